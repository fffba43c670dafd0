"""The explorer as one HTML page, with all scripts, styles and data inline."""

from collections.abc import Iterator, Mapping, Sequence
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
from boostne.visualization.document import content_security_policy, read_asset, style_sheet, theme_script
from boostne.visualization.explorer.arrays import (
    component_array,
    describe,
    describe_nodes,
    edge_arrays,
    node_arrays,
    similarity_arrays,
    strongest_arrays,
)
from boostne.visualization.explorer.content import Content, NodeContent, collect_content
from boostne.visualization.explorer.layouts import level_layouts
from boostne.visualization.explorer.packing import PackedArray, morton_order, text_to_base64, to_map_grid
from boostne.visualization.html import Markup, element, joined, json_script

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

    Examples
    --------
    >>> import boostne, tempfile
    >>> from pathlib import Path
    >>> data = boostne.load_dataset("karate")
    >>> embedding = boostne.BoostNE(8, levels=2).fit(data.graph).embedding_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "map.html")
    ...     write_explorer_page(page, embedding, data.labels, data.graph, title="Karate club")
    ...     "Karate club" in page.read_text(encoding="utf-8")
    True
    """
    check_page_size(embedding)
    content = collect_content(embedding, labels, graph, title)
    content.log_notes()
    html = render_explorer(pack_embedding(content, seed, progress))
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


def explorer_scripts() -> list[str]:
    """Return the scripts of the page, which its content security policy allows by their hashes."""
    sources = "\n".join(read_asset(f"explorer/{name}") for name in _SCRIPTS)
    return [theme_script(), f'(() => {{\n"use strict";\n{sources}\n}})();']


def render_explorer(parts: Mapping[str, str], *, connect: str = "'none'") -> str:
    """Return the page with the given parts; see :func:`explorer_parts`. Its script may send requests to `connect`."""
    theme, script = explorer_scripts()
    policy = content_security_policy([theme, script], connect)
    return Template(read_asset("explorer/explorer.html")).substitute(
        parts,
        policy=element("meta", http_equiv="Content-Security-Policy", content=policy),
        style=style_sheet("explorer/explorer.css"),
        theme=element("script", Markup(theme)),
        script=element("script", Markup(script)),
    )


def explorer_parts(description: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of the page that depend on what it shows, as HTML.

    Parameters
    ----------
    description : mapping
        What the script needs to know.
    texts : mapping from str to str
        The packed arrays; empty if they are fetched.
    """
    first = {name: text for name, text in texts.items() if name in _FIRST}
    rest = {name: text for name, text in texts.items() if name not in _FIRST}
    return {
        "title": element("title", f"{description['title']} – boostne explorer"),
        "heading": element("h1", description["title"]),
        "description": json_script("description", description),
        "first": _data_elements(first),
        "rest": _data_elements(rest),
    }


def pack_embedding(content: Content, seed: int, progress: ProgressCallback) -> dict[str, str]:
    """Lay out an embedding, and return the parts of its page."""
    grids = [to_map_grid(layout) for layout in level_layouts(content.embedding, seed, progress)]
    order = morton_order(grids[0])
    description = describe(content, _STEPS)
    arrays = dict(_vector_arrays(content, order, description["largest"], progress))
    return _pack(content, grids, order, description, arrays)


def pack_positions(content: NodeContent, layouts: Sequence[NDArray[np.float64]]) -> dict[str, str]:
    """Return the parts of the page of nodes without vectors, with given positions: of all levels, then of each."""
    grids = [to_map_grid(layout) for layout in layouts]
    return _pack(content, grids, morton_order(grids[0]), describe_nodes(content, [0] * (len(layouts) - 1)), {})


def _pack(
    content: NodeContent,
    grids: Sequence[NDArray[np.uint16]],
    order: NDArray[np.intp],
    description: dict[str, Any],
    more: Mapping[str, PackedArray],
) -> dict[str, str]:
    positions = {f"positions-{level}": PackedArray(grid[order], differences=True) for level, grid in enumerate(grids)}
    arrays = {**positions, **node_arrays(content, order), **more}
    texts = {name: array.to_text() for name, array in arrays.items()}
    texts["ids"] = text_to_base64([content.ids[row] for row in order])
    described = {name: array.described() for name, array in arrays.items()}
    return explorer_parts(description | {"served": False, "arrays": described}, texts)


def _data_elements(texts: Mapping[str, str]) -> Markup:
    return joined(element("script", Markup(text), type="text/plain", id=f"data-{name}") for name, text in texts.items())


def _vector_arrays(
    content: Content, order: NDArray[np.intp], largest: float, progress: ProgressCallback
) -> Iterator[tuple[str, PackedArray]]:
    embedding = content.embedding
    yield from similarity_arrays(embedding, order, progress).items()
    progress(Progress("packing", 0.0, f"{embedding.dimensions} components"))
    yield from strongest_arrays(embedding, order, largest).items()
    if content.graph is not None:
        yield from edge_arrays(content.graph, order).items()
    for column in range(embedding.dimensions):
        yield f"component-{column}", component_array(embedding, column, order, _STEPS)
