"""Link prediction: vectors must separate held-out edges from non-edges.

The test edges are removed *before* the graph is embedded, so that they do not leak into the vectors. A pair is
scored by its two vectors, and the scores are evaluated by the area under the ROC curve (AUC: the probability that
an edge scores above a non-edge, ties counting ½) and by average precision (AP). There are as many non-edges as
edges, so uninformative vectors score about ½ in both.

In a directed graph, the source vector of one node and the target vector of the other score an edge between them, and a
further AUC says how well edges are told from their reverse.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import GraphError, ParameterError
from boostne.evaluation.classification import as_embedding
from boostne.evaluation.link_scoring import LEARNED, MAX_TRAINING_EDGES, LinkVectors, score_links
from boostne.evaluation.link_split import has_edges, held_out_count, split
from boostne.evaluation.result import Scores, versions
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.node_ids import format_ids, lookup_ids
from boostne.progress import ProgressOption, reporting, tracked
from boostne.validation import check_integer

Operator = Literal["dot", "cosine", "hadamard", "average", "l1", "l2"]

LINK_SCORE = np.dtype([("operator", "U8"), ("repeat", "i8"), ("auc", "f8"), ("ap", "f8")])
DIRECTED_LINK_SCORE = np.dtype([*LINK_SCORE.descr, ("direction", "f8")])
OPERATORS = {
    "dot": "⟨x_u, x_v⟩",
    "cosine": "⟨x_u, x_v⟩ / (‖x_u‖ ‖x_v‖), 0 for a zero vector",
    "hadamard": "logistic regression on x_u ⊙ x_v, the elementwise product",
    "average": "logistic regression on (x_u + x_v) / 2",
    "l1": "logistic regression on |x_u - x_v|",
    "l2": "logistic regression on |x_u - x_v|²",
}
LINK_CLASSIFIER = "logistic regression, liblinear, L2, C = 1, on standardized features; for the learned operators"


def evaluate_links(
    method: Any,
    graph: Any,
    *,
    test: float = 0.2,
    repeats: int = 5,
    seed: int = 0,
    operator: Operator | Iterable[Operator] = ("dot", "hadamard"),
    progress: ProgressOption = False,
) -> "LinkEvaluation":
    """Score a method by link prediction.

    Each repeat draws a split as in :func:`split_links`, embeds the training graph, and scores the held-out edges
    and the non-edges by their vectors:

    - "dot", "cosine": the inner product ``⟨x_u, x_v⟩`` or the cosine; nothing is learned.
    - "hadamard", "average", "l1", "l2": a logistic regression on ``x_u ⊙ x_v``, ``(x_u + x_v) / 2``,
      ``|x_u - x_v|`` or ``|x_u - x_v|²``, elementwise. It is trained on the training edges (a random sample of at
      most 100,000) and as many further non-edges, none of them test pairs. The features are standardized, so
      the scale of the vectors does not matter; C = 1.

    In a directed graph, x_u is the source vector of u and x_v the target vector of v
    (:attr:`~boostne.models.base.NodeEmbedder.sources_`); a method without target vectors scores both directions alike.
    The AUC of the edges without a reverse edge, against their reverse, is the score ``direction``.

    Parameters
    ----------
    method : estimator, or callable from Graph to Embedding
        An estimator is cloned and fitted for each repeat and must then have ``embedding_``. A callable may also
        return an array whose row i belongs to ``graph.nodes[i]``.
    graph : Graph, or anything that :func:`boostne.as_graph` accepts
    test : float, default 0.2
        Fraction of the edges to hold out, between 0 and 1.
    repeats : int, default 5
        Number of random splits.
    seed : int, default 0
        Seed of the splits; methods with the same seed are scored on the same pairs.
    operator : {"dot", "cosine", "hadamard", "average", "l1", "l2"}, or several of them
        How a pair is scored. All operators use the same vectors.
    progress : callable or bool, default False
        Called repeatedly with a :class:`boostne.progress.Progress`; True shows a progress bar.

    Returns
    -------
    LinkEvaluation

    Notes
    -----
    Non-edges are drawn uniformly, as usual. Their endpoints have lower degrees than those of edges, so a score that
    merely grows with the degrees, as "dot" may, does well on networks with hubs. "cosine" ignores the norms.

    Examples
    --------
    >>> from boostne import BoostNE, load_dataset
    >>> graph = load_dataset("karate").graph
    >>> result = evaluate_links(BoostNE(8, levels=2, window=2), graph, repeats=2, operator="cosine")
    >>> result.scores["auc"].shape
    (2,)
    """
    check_integer("repeats", repeats, 1)
    check_integer("seed", seed, 0, maximum=None)
    operators = _check_operators(operator)
    embed = _as_function(method)
    network = as_graph(graph)
    count = held_out_count(network, test)
    if not set(operators).isdisjoint(LEARNED):
        _check_training_pairs(network, count, operators)
    rows = []
    with reporting(progress) as report:
        for repeat in tracked(range(repeats), repeats, report, "scoring"):
            rng = np.random.default_rng([seed, repeat])
            parts = split(network, count, rng)
            vectors = _link_vectors(embed(parts.training), parts.training)
            one_way = ~has_edges(network, parts.edges[:, ::-1]) if network.directed else None
            found = score_links(vectors, parts, operators, rng, one_way)
            rows += [(name, repeat, *scores) for name, scores in found.items()]
    # Sorted by operator, then by repeat, because the sort is stable.
    rows.sort(key=lambda row: operators.index(row[0]))
    return LinkEvaluation(
        scores=np.array(rows, dtype=DIRECTED_LINK_SCORE if network.directed else LINK_SCORE),
        repeats=int(repeats),
        seed=int(seed),
        operators=operators,
        test=float(test),
        n_nodes=network.n_nodes,
        n_edges=network.n_edges,
        n_test=count,
        method=_name(method),
        graph_sha256=network.fingerprint(),
    )


@dataclass(frozen=True, eq=False, repr=False)
class LinkEvaluation(Scores):
    """The link prediction scores of a method and the protocol that produced them.

    Attributes
    ----------
    scores : structured array
        One row per operator and split: ``operator``, ``repeat``, ``auc``, ``ap``, and for a directed graph
        ``direction``, NaN if no test edge is without a reverse edge. Means are over the splits of each operator.
    operators : tuple of str
    repeats, seed, test
        As given to :func:`boostne.evaluate_links`.
    n_nodes, n_edges : int
        Size of the whole graph.
    n_test : int
        Number of test edges per split, and of non-edges.
    method : str
        ``repr`` of the estimator, or name of the function.
    graph_sha256 : str
        :meth:`boostne.Graph.fingerprint` of the whole graph.

    Examples
    --------
    >>> import boostne
    >>> graph = boostne.load_dataset("karate").graph
    >>> result = evaluate_links(boostne.BoostNE(8, levels=2), graph, repeats=2, operator="dot")
    >>> result.operators, result.n_edges, result.n_test
    (('dot',), 78, 16)
    >>> (result.mean("auc") > 0.6).all()
    np.True_
    """

    task: ClassVar[str] = "Link prediction"
    metrics: ClassVar[dict[str, str]] = {"auc": "AUC", "ap": "average precision", "direction": "AUC of the direction"}

    operators: tuple[str, ...]
    test: float
    n_nodes: int
    n_edges: int
    n_test: int
    method: str
    graph_sha256: str

    def _groups(self) -> tuple[int, ...]:
        return (len(self.operators),)

    def _group_names(self) -> list[str]:
        return list(self.operators)

    def table(self) -> str:
        """Return the means and standard errors as a text table preceded by the protocol."""
        width = max(map(len, self.measured.values()))  # of a column; scores are shorter
        heads = "   ".join(f"{title:^{width}}" for title in self.measured.values())
        lines = [f"{self._protocol()}; {self._legend()}", "", f"operator   {heads}".rstrip()]
        cells = ([f"{cell:^{width}}" for cell in self._cells(metric)] for metric in self.measured)
        rows = zip(self.operators, *cells, strict=True)
        lines += [f"{operator:9}  {'   '.join(row)}".rstrip() for operator, *row in rows]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-serializable Python values."""
        summary = self._summary()
        return {
            "protocol": self._protocol(),
            "method": self.method,
            "seed": self.seed,
            "repeats": self.repeats,
            "test": self.test,
            "test_edges": self.n_test,
            "test_non_edges": self.n_test,
            "nodes": self.n_nodes,
            "edges": self.n_edges,
            "graph_sha256": self.graph_sha256,
            "classifier": LINK_CLASSIFIER,
            "versions": versions(),
            "summary": [
                {"operator": operator, "score": OPERATORS[operator]}
                | {name: float(values[i]) for name, values in summary.items()}
                for i, operator in enumerate(self.operators)
            ],
            "splits": self._rows(),
        }

    def _protocol(self) -> str:
        what = "connected pairs" if "direction" in self.measured else "edges"
        held_out = f"{self.n_test} {what} ({100 * self.test:g} %) held out before the graph was embedded"
        splits = f"{self.repeats} random splits (seed {self.seed})"
        return f"{self.n_nodes} nodes, {self.n_edges} edges; {held_out}, and as many non-edges; {splits}"


def _as_function(method: Any) -> Callable[[Graph], Any]:
    if isinstance(method, type):
        raise ParameterError(
            f"method must be an estimator, got the class {method.__name__}: pass an instance, {method.__name__}()"
        )
    if hasattr(method, "fit"):
        return lambda graph: _fitted(method, graph)
    if not callable(method):
        raise ParameterError(
            f"method must be an estimator with fit, or a callable from a graph to its embedding, got {method!r}"
        )
    function: Callable[[Graph], Any] = method
    return function


def _fitted(estimator: Any, graph: Graph) -> Any:
    from sklearn.base import clone

    model = clone(estimator, safe=False)
    model.fit(graph)
    if not hasattr(model, "embedding_"):
        raise ParameterError(
            f"method must have embedding_ after fit, and {type(model).__name__} does not; pass a function from "
            "the graph to its vectors instead"
        )
    return getattr(model, "sources_", model.embedding_) if graph.directed else model.embedding_


def _link_vectors(embedding: Any, graph: Graph) -> LinkVectors:
    """Return the vectors of the nodes as sources and as targets, which are the same unless edges are directed."""
    is_array = isinstance(embedding, np.ndarray | list)
    found = Embedding(graph.nodes, embedding) if is_array else as_embedding(embedding)
    sources = _vectors(found, graph)
    if found.targets is None or not graph.directed:
        return LinkVectors(sources, sources)
    return LinkVectors(sources, _vectors(found.targets, graph))


def _vectors(found: Embedding, graph: Graph) -> NDArray[np.float64]:
    """Return the vectors in the order of the graph's nodes."""
    rows = lookup_ids(found.nodes, graph.nodes)
    missing = graph.nodes[rows < 0]
    if len(missing):
        raise ParameterError(
            f"method returned no vector for {len(missing)} of {graph.n_nodes} nodes: {format_ids(missing)}; "
            "every node of the training graph needs one, possibly all zeros"
        )
    return found.vectors[rows].astype(np.float64)


def _name(method: Any) -> str:
    if hasattr(method, "fit"):
        return " ".join(repr(method).split())
    return str(getattr(method, "__qualname__", type(method).__name__))


def _check_training_pairs(graph: Graph, count: int, operators: tuple[str, ...]) -> None:
    pairs = graph.to_undirected()
    n, edges = pairs.n_nodes, pairs.n_edges - pairs.n_self_loops
    wanted = min(edges - count, MAX_TRAINING_EDGES)
    free = n * (n - 1) // 2 - edges - count
    if wanted > free:
        learned = next(name for name in operators if name in LEARNED)
        raise GraphError(
            f"operator={learned!r} is trained on {wanted} non-edges besides the {count} test non-edges, but this "
            f"dense graph has only {free} more; operator='dot' and operator='cosine' need none"
        )


def _check_operators(operator: str | Iterable[str]) -> tuple[str, ...]:
    """Return the distinct operators in the given order."""
    names = tuple(dict.fromkeys([operator] if isinstance(operator, str) else operator))
    unknown = [name for name in names if name not in OPERATORS]
    if unknown or not names:
        got = repr(unknown[0]) if unknown else "none"
        raise ParameterError(f"operator must be one of {', '.join(map(repr, OPERATORS))}, got {got}")
    return names
