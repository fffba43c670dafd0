"""The explorer as one HTML page, with all scripts, styles and data inline."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.io.atomic import atomic_path
from boostne.labels import Labels
from boostne.progress import Progress, ProgressCallback, silent
from boostne.visualization.explorer.arrays import (
    component_array,
    describe,
    edge_arrays,
    node_arrays,
    similarity_arrays,
    strongest_arrays,
)
from boostne.visualization.explorer.content import Content, collect_content
from boostne.visualization.explorer.layouts import level_layouts
from boostne.visualization.explorer.packing import PackedArray, morton_order, text_to_base64, to_map_grid
from boostne.visualization.html import Markup, element, joined, json_script
from boostne.visualization.page import content_security_policy
from boostne.visualization.palette import css_variables

MAX_PAGE_NODES = 150_000
_FIRST = ("positions-0", "label_counts", "label_indices")  # shown before the rest of the page is read
_STEPS = 15  # values of a component in a page, less one
_SCRIPTS = ("data.js", "colors.js", "camera.js", "renderer.js", "canvas_renderer.js", "regions.js", "selection.js",
            "overlay.js", "panel.js", "map_view.js", "level_control.js", "gestures.js", "main.js")  # fmt: skip


def write_explorer_page(
    path: str | Path,
    embedding: Embedding,
    labels: Labels | None = None,
    graph: Graph | None = None,
    *,
    title: str = "Embedding",
    seed: int = 0,
    progress: ProgressCallback = silent,
) -> None:
    """Write an interactive map of an embedding as one HTML page that opens from disk.

    Parameters
    ----------
    path : str or Path
        The file to write.
    embedding : Embedding
        With at most `MAX_PAGE_NODES` nodes.
    labels : Labels, optional
    graph : Graph, optional
        Adds degrees, communities and the edges of the selected node.
    title : str
    seed : int, default 0
        Seed of the layouts.
    progress : callable, optional

    Raises
    ------
    ParameterError
        If there are no nodes, or too many for a page.
    """
    check_page_size(embedding)
    content = collect_content(embedding, labels, graph, title)
    layouts = level_layouts(embedding, seed, progress)
    html = _render_page(content, [to_map_grid(layout) for layout in layouts], progress)
    with atomic_path(path) as temporary:
        temporary.write_text(html, encoding="utf-8", errors="replace", newline="\n")


def check_page_size(embedding: Embedding) -> None:
    """Raise unless a page can show the embedding."""
    check_not_empty(embedding)
    if len(embedding) > MAX_PAGE_NODES:
        raise ParameterError(
            f"a page can show at most {MAX_PAGE_NODES:,} nodes, got {len(embedding):,}; "
            "'boostne explore' without -o serves larger embeddings"
        )


def check_not_empty(embedding: Embedding) -> None:
    """Raise if there is no node to show."""
    if len(embedding) == 0:
        raise ParameterError("the embedding has no nodes, so there is no map to show")


def render_shell(description: Mapping[str, Any], texts: Mapping[str, str], *, connect: str = "'none'") -> str:
    """Return the page; its content security policy allows the two scripts below only, by their hashes.

    Parameters
    ----------
    description : mapping
        What the script needs to know.
    texts : mapping from str to str
        The packed arrays; empty if they are fetched.
    connect : str
        Where the script may send requests.
    """
    first = {name: text for name, text in texts.items() if name in _FIRST}
    rest = {name: text for name, text in texts.items() if name not in _FIRST}
    sources = "\n".join(_asset(name) for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{sources}\n}})();'
    theme = _asset("theme.js")
    policy = f"{content_security_policy([theme, script])}; connect-src {connect}; form-action 'none'"
    return Template(_asset("explorer.html")).substitute(
        title=element("title", f"{description['title']} – boostne explorer"),
        policy=element("meta", http_equiv="Content-Security-Policy", content=policy),
        style=css_variables(':root[data-theme="dark"]') + _asset("explorer.css"),
        theme=element("script", Markup(theme)),
        heading=element("h1", description["title"]),
        description=json_script("description", description),
        first=_data_elements(first),
        rest=_data_elements(rest),
        script=element("script", Markup(script)),
    )


def _render_page(content: Content, grids: Sequence[NDArray[np.uint16]], progress: ProgressCallback) -> str:
    order = morton_order(grids[0])
    description = describe(content, _STEPS) | {"served": False}
    arrays = dict(_page_arrays(content, grids, order, description["largest"], progress))
    texts = {name: array.to_text() for name, array in arrays.items()}
    texts["ids"] = text_to_base64([content.ids[row] for row in order])
    description["arrays"] = {name: array.described() for name, array in arrays.items()}
    return render_shell(description, texts)


def _data_elements(texts: Mapping[str, str]) -> Markup:
    return joined(element("script", Markup(text), type="text/plain", id=f"data-{name}") for name, text in texts.items())


def _page_arrays(
    content: Content,
    grids: Sequence[NDArray[np.uint16]],
    order: NDArray[np.intp],
    largest: float,
    progress: ProgressCallback,
) -> Iterator[tuple[str, PackedArray]]:
    embedding = content.embedding
    for level, grid in enumerate(grids):
        yield f"positions-{level}", PackedArray(grid[order], differences=True)
    yield from node_arrays(content, order).items()
    yield from similarity_arrays(embedding, order, progress).items()
    progress(Progress("packing", 0.0, f"{embedding.dimensions} components"))
    yield from strongest_arrays(embedding, order, largest).items()
    if content.graph is not None:
        yield from edge_arrays(content.graph, order).items()
    for column in range(embedding.dimensions):
        yield f"component-{column}", component_array(embedding, column, order, _STEPS)


def _asset(name: str) -> str:
    return (files("boostne.visualization") / "assets" / "explorer" / name).read_text(encoding="utf-8")
