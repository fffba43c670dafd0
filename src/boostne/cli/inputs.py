"""Graphs and labels from a file or from a data set's name."""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.options import first_given, values
from boostne.cli.session import session_of
from boostne.errors import ParameterError

if TYPE_CHECKING:
    from boostne.graph import Graph
    from boostne.labels import Labels

GRAPH_SECTION = "How the graph file is read"
LABELS_SECTION = "How the label file is read"


def load_graph(ctx: click.Context, name: str) -> "Graph":
    """Return the graph that GRAPH names."""
    from boostne.io import read_graph

    graph: Graph = _load(ctx, name, GRAPH_SECTION, read_graph, "graph")
    return graph.to_undirected() if ctx.params.get("to_undirected") else graph


def load_labels(ctx: click.Context, name: str) -> "Labels":
    """Return the labels that LABELS names."""
    from boostne.io import read_labels

    labels: Labels = _load(ctx, name, LABELS_SECTION, read_labels, "labels")
    return labels


def _load(ctx: click.Context, name: str, section: str, read: Callable[..., Any], part: str) -> Any:
    """Read a file; where there is none of this name, take a part of the data set of this name."""
    from boostne.datasets import list_datasets, load_dataset

    known = [row.name for row in list_datasets()]
    if Path(name).exists():
        return read(name, **values(ctx, section))
    if name not in known:
        raise ParameterError(
            f"there is no file {name!r} and no data set of this name; {_nearest(name, known)}"
        )
    given = first_given(ctx, section)
    if given:
        raise click.UsageError(f"{given} is for files, and {name!r} is a data set.", ctx)
    if session_of(ctx).screen.quiet:
        import pooch

        pooch.get_logger().setLevel("WARNING")  # it tells of downloads
    return getattr(load_dataset(name), part)


def _nearest(name: str, known: list[str]) -> str:
    path = Path(name)
    files = [file.name for file in path.parent.iterdir() if file.is_file()] if path.parent.is_dir() else []
    close = [str(path.parent / file) for file in get_close_matches(path.name, files, n=2, cutoff=0.8)]
    close += get_close_matches(name.lower(), known, n=2)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"data sets: {', '.join(known)}"
