"""Errors caused by input or environment rather than by bugs, and the categories of warnings.

Each message names the problem, the value found and the remedy. The command line prints it without a traceback.
"""

import inspect
import warnings


class BoostneError(Exception):
    """Base class of all errors that a user can fix.

    Examples
    --------
    >>> import boostne
    >>> try:
    ...     boostne.BoostNE(10, levels=4).fit([(0, 1), (1, 2)])
    ... except BoostneError as error:
    ...     print(error)
    dimensions must be a multiple of levels, so that all levels have the same width; got dimensions=10 and levels=4
    """


class GraphError(BoostneError, ValueError):
    """An invalid or unsupported graph: no edges, invalid weights, directed where undirected is required.

    Examples
    --------
    >>> import boostne
    >>> boostne.as_graph([("a", "b", -1.0)])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    boostne.errors.GraphError: the edge ('a', 'b') has a negative weight (-1.0): ...
    """


class FileFormatError(BoostneError, ValueError):
    r"""A file that violates its format; the message names the file and, if known, the line.

    Examples
    --------
    >>> import boostne, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edges = Path(folder, "edges.txt")
    ...     _ = edges.write_text("1 2\n2 3\n3\n")
    ...     boostne.read_graph(edges)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    boostne.errors.FileFormatError: ...edges.txt, line 3: one column ('3'), but an edge needs two: ...
    """


class ParameterError(BoostneError, ValueError):
    """A parameter out of range, or incompatible parameters.

    Examples
    --------
    >>> import boostne
    >>> boostne.BoostNE(8, levels=2, propagation=2).fit([(0, 1), (1, 2)])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    boostne.errors.ParameterError: propagation must be ...
    """


class UnknownNodeError(BoostneError, KeyError):
    """A node id that is not in the embedding.

    Examples
    --------
    >>> import boostne
    >>> embedding = boostne.Embedding(["ann", "bob"], [[1.0], [2.0]])
    >>> embedding["zoe"]
    Traceback (most recent call last):
        ...
    boostne.errors.UnknownNodeError: node 'zoe' is not in the embedding of 'ann', 'bob'
    """

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the message in quotes.
        return str(self.args[0])


# MemoryError comes first because it has its own __new__: otherwise Dask cannot send the error from a worker.
class MemoryLimitError(MemoryError, BoostneError):
    """A computation that would exceed the available memory or its limit; raised before allocating.

    Examples
    --------
    >>> import boostne
    >>> graph = boostne.load_dataset("karate").graph
    >>> boostne.BoostNE(8, levels=2, memory_limit="1MB").fit(graph)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    boostne.errors.MemoryLimitError: embedding 34 nodes, ... The smallest sufficient memory_limit is ...
    """


class CheckpointError(BoostneError, ValueError):
    """A checkpoint of a different run or version, or a folder that is not a checkpoint.

    Examples
    --------
    >>> import boostne, tempfile
    >>> graph = boostne.load_dataset("karate").graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = boostne.BoostNE(8, levels=2, checkpoint=folder).fit(graph)
    ...     boostne.BoostNE(16, levels=2, checkpoint=folder).fit(graph)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    boostne.errors.CheckpointError: ... belongs to another run: dimensions was 8 and is 16. ...
    """


class ClusterError(BoostneError, RuntimeError):
    """An unusable or lost cluster: no workers, mismatched versions, a closed client.

    Examples
    --------
    >>> import boostne, distributed
    >>> graph = boostne.load_dataset("karate").graph
    >>> with distributed.Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     pass
    >>> boostne.BoostNE(8, levels=2, engine=client).fit(graph)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    boostne.errors.ClusterError: ...
    """


class EngineError(BoostneError, RuntimeError):
    """An engine that failed, or that is unavailable because a library or device is missing.

    Examples
    --------
    Use a GPU, or the CPU if there is none, and say so:

    >>> import boostne
    >>> graph = boostne.load_dataset("karate").graph
    >>> try:
    ...     model = boostne.BoostNE(8, levels=2, engine="cuda").fit(graph)
    ... except EngineError:
    ...     model = boostne.BoostNE(8, levels=2).fit(graph)
    >>> model.engine_ in {"cuda", "local"}
    True
    """


class BoostneWarning(UserWarning):
    """Base class of all warnings of this library.

    Examples
    --------
    Turn warnings into errors:

    >>> import boostne, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", BoostneWarning)
    ...     boostne.as_graph([(0, 0), (0, 1)])
    Traceback (most recent call last):
        ...
    boostne.errors.InputWarning: dropped 1 self-loop; self_loops='keep' keeps them
    """


class InputWarning(BoostneWarning):
    """Input of which a part was left out, or that was read by a guess; the message says how to decide otherwise.

    Examples
    --------
    >>> import boostne, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", InputWarning)
    ...     graph = boostne.as_graph([(0, 0), (0, 1)])
    >>> print(caught[0].message)
    dropped 1 self-loop; self_loops='keep' keeps them
    """


class ConvergenceWarning(BoostneWarning):
    """An iterative computation that stopped before it reached its tolerance.

    Examples
    --------
    Scores of classifiers that did not converge are an error:

    >>> import boostne, warnings
    >>> data = boostne.load_dataset("karate")
    >>> embedding = boostne.BoostNE(8, levels=2).fit(data.graph).embedding_
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConvergenceWarning)
    ...     result = boostne.evaluate(embedding, data.labels, train=50, repeats=2)
    >>> result.scores["micro"].min() > 0.7
    np.True_
    """


class CheckpointWarning(BoostneWarning):
    """A part of a checkpoint or of a cache that is damaged and computed again, or that could not be stored.

    Examples
    --------
    >>> import boostne, tempfile, warnings
    >>> from pathlib import Path
    >>> model = boostne.BoostNE(8, levels=2)
    >>> graph = boostne.load_dataset("karate").graph
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     _ = model.set_params(checkpoint=folder).fit(graph)
    ...     level = min(Path(folder).glob("*level*"))
    ...     _ = level.write_bytes(level.read_bytes()[:-9])
    ...     warnings.simplefilter("always", CheckpointWarning)
    ...     _ = model.fit(graph)  # computes the damaged level again
    >>> "is damaged" in str(caught[0].message)
    True
    """


class PerformanceWarning(BoostneWarning):
    """A computation that is slower than it could be, such as without the compiled kernels.

    Examples
    --------
    Refuse to run without the compiled kernels:

    >>> import boostne, warnings
    >>> warnings.simplefilter("error", PerformanceWarning)
    """


def warn_caller(message: str, category: type[BoostneWarning]) -> None:
    """Issue a warning that points to the line that called this library, however deep inside of it this is."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
