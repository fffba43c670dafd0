"""Graphs and labels from a file or from a named data set."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.file_options import EMBEDDING_FILE_OPTIONS, GRAPH_FILE_OPTIONS, LABEL_FILE_OPTIONS, LABEL_PREFIX
from boostne.cli.options import LibraryOption, given
from boostne.cli.session import session_of
from boostne.errors import ParameterError

if TYPE_CHECKING:
    from boostne.datasets import Dataset
    from boostne.embedding import Embedding
    from boostne.graph import Graph
    from boostne.labels import Labels
    from boostne.models import BoostNE


def load_graph(ctx: click.Context, name: str) -> "Graph":
    """Return the graph in a file or data set."""
    bipartite = ctx.params.get("bipartite", False)
    graph = _load_graph(ctx, name, memory_limit=ctx.params.get("memory_limit"), bipartite=bipartite)
    if bipartite and graph.sides is None:
        raise click.UsageError(f"--bipartite applies to files, but {name!r} is a data set.")
    return graph


def load_graph_of(ctx: click.Context, name: str, model: "BoostNE") -> "Graph":
    """Return a graph for a model: files are read as directed or bipartite if the model's graph was."""
    kind: dict[str, Any] = {"bipartite": model.fitted_graph_.sides is not None}
    return _load_graph(ctx, name, **kind, **({"directed": True} if model.fitted_graph_.directed else {}))


def _load_graph(ctx: click.Context, name: str, **options: Any) -> "Graph":
    """Return a graph, read with these options unless others were given, and without direction if that was wanted."""
    read = partial(_read_graph, **options)
    graph: Graph = _load(ctx, name, GRAPH_FILE_OPTIONS, read, lambda data: data.graph)
    return graph.to_undirected() if ctx.params.get("to_undirected") else graph


def worker_read_options(ctx: click.Context, name: str) -> dict[str, Any] | None:
    """Return the options of a graph that the workers of a cluster can read: a Parquet table; None for any other."""
    from boostne.io.edge_tables import is_parquet
    from boostne.models.parts_base import READ_OPTIONS

    options = _with_weight(**given(ctx, GRAPH_FILE_OPTIONS))
    # Workers of other machines may see a file that this one does not.
    if not is_parquet(Path(name)) or (ctx.params["workers"] is not None and not Path(name).exists()):
        return None
    # What a Parquet table is anyway. Other options are for the reader, or errors of it.
    usual = {"format": "parquet", "directed": False}
    wanted = {key: value for key, value in options.items() if key not in usual or usual[key] != value}
    return wanted if wanted.keys() <= set(READ_OPTIONS) else None


def load_labels(ctx: click.Context, name: str) -> "Labels":
    """Return the labels in a file or data set."""
    from boostne.io import read_labels

    def read(path: str, **typed: Any) -> "Labels":
        return read_labels(path, **{name.removeprefix(LABEL_PREFIX): value for name, value in typed.items()})

    with session_of(ctx).wording.of_file(LABEL_PREFIX):
        labels: Labels = _load(ctx, name, LABEL_FILE_OPTIONS, read, lambda data: data.labels)
    return labels


def load_embedding(ctx: click.Context, name: str) -> "Embedding":
    """Return the embedding in a file."""
    from boostne.datasets import list_datasets
    from boostne.io import read_embedding

    if not Path(name).exists() and name in [row.name for row in list_datasets()]:
        raise ParameterError(
            f"{name!r} is a data set, and no file of vectors has this name; 'boostne embed {name} -o {name}.npz' "
            "writes one"
        )
    return read_embedding(name, **given(ctx, EMBEDDING_FILE_OPTIONS))


def check_order(embeddings: Sequence[str], labels: str) -> None:
    """Raise UsageError if a file of vectors is given as the labels, and other files as the vectors."""
    vectors = (".npz", ".npy", ".parquet", ".emb")
    if labels.lower().endswith(vectors) and not any(one.lower().endswith(vectors) for one in embeddings):
        raise click.UsageError(f"the labels come last: {labels!r} is a file of vectors, {embeddings[0]!r} is not.")


def _read_graph(name: str, **options: Any) -> "Graph":
    from boostne.io import read_graph

    return read_graph(name, **_with_weight(**options))


def _with_weight(*, no_weight: bool = False, **options: Any) -> dict[str, Any]:
    """Return the options of read_graph, where False stands for no weight."""
    if no_weight and "weight" in options:
        raise click.UsageError("--weight and --no-weight exclude each other: give one of them.")
    return options | ({"weight": False} if no_weight else {})


def _load(
    ctx: click.Context,
    name: str,
    options: Sequence[LibraryOption],
    read: Callable[..., Any],
    part: Callable[["Dataset"], Any],
) -> Any:
    """Read a file, or take a part of the data set if there is no file of this name."""
    typed = given(ctx, options)
    if name == "-" or Path(name).exists():
        return read(name, **typed)
    from boostne.datasets import list_datasets, load_dataset

    known = [row.name for row in list_datasets()]
    if name not in known:
        raise ParameterError(f"there is no file or data set {name!r}; {_suggestion(name, known)}")
    for option in options:
        if option.name in typed:
            raise click.UsageError(f"{option.flag} applies to files, but {name!r} is a data set.")
    session = session_of(ctx)
    if session.screen.quiet:
        import pooch

        pooch.get_logger().setLevel("WARNING")  # hides its notes on downloads
    if name not in session.datasets:
        session.datasets[name] = load_dataset(name)
    return part(session.datasets[name])


def _suggestion(name: str, known: list[str]) -> str:
    path = Path(name)
    files = [file.name for file in path.parent.iterdir() if file.is_file()] if path.parent.is_dir() else []
    close = [str(path.parent / file) for file in get_close_matches(path.name, files, n=2, cutoff=0.8)]
    close += get_close_matches(name.lower(), known, n=2)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"data sets: {', '.join(known)}"
