"""Embeddings for viewers: TensorBoard's projector and Embedding Atlas."""

import logging
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.io.atomic import atomic_path, make_folder
from boostne.labels import as_labels
from boostne.visualization.layout import flat_map
from boostne.visualization.plots import shown_rows

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger("boostne")

_PLANE = 2
_PROJECTOR_CONFIG = """embeddings {
  tensor_name: "nodes"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def write_projector(embedding: Embedding, folder: str | Path, labels: Any = None) -> None:
    """Write an embedding for TensorBoard's projector.

    ``tensorboard --logdir FOLDER`` shows it, and projector.tensorflow.org loads the two tables.

    Parameters
    ----------
    embedding : Embedding
    folder : str or Path
        Created if missing; gets ``vectors.tsv``, ``metadata.tsv`` and ``projector_config.pbtxt``.
    labels : Labels, or anything that :func:`boostne.as_labels` accepts, optional
        Several labels of a node are separated by commas.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from boostne import Embedding, write_projector
    >>> with TemporaryDirectory() as folder:
    ...     write_projector(Embedding(["ann", "bob"], [[1, 0], [0, 1]]), folder, {"ann": "red", "bob": "blue"})
    ...     print(Path(folder, "vectors.tsv").read_text().split())
    ['1', '0', '0', '1']
    """
    target = Path(folder)
    make_folder(target)
    ids = [_one_field(node) for node in embedding.nodes.tolist()]
    if labels is None:
        metadata = ids  # a single column has no header
    else:
        rows = zip(ids, _label_texts(embedding, labels), strict=True)
        metadata = ["id\tlabel", *(f"{node}\t{label}" for node, label in rows)]
    writers: dict[str, Callable[[Path], Any]] = {
        "vectors.tsv": lambda path: np.savetxt(path, embedding.vectors, fmt="%.6g", delimiter="\t"),
        "metadata.tsv": lambda path: path.write_text("".join(f"{line}\n" for line in metadata), encoding="utf-8"),
        "projector_config.pbtxt": lambda path: path.write_text(_PROJECTOR_CONFIG, encoding="utf-8"),
    }
    for name, write in writers.items():
        with atomic_path(target / name) as temporary:
            write(temporary)


def write_atlas(
    embedding: Embedding, path: str | Path, labels: Any = None, *, positions: ArrayLike | None = None, seed: int = 0
) -> None:
    """Write a Parquet table for Embedding Atlas: the columns id, x, y, label (if given) and vector.

    ``embedding-atlas FILE --x x --y y`` shows it.

    Parameters
    ----------
    embedding : Embedding
    path : str or Path
        With the suffix ``.parquet``.
    labels : Labels, or anything that :func:`boostne.as_labels` accepts, optional
        Several labels of a node are separated by commas.
    positions : array of shape (n, 2), optional
        x and y. By default computed by t-SNE, of a random sample of 5,000 nodes if there are more: then the table has
        these nodes only.
    seed : int, default 0
        Seed of the sample and of the positions.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from pyarrow import parquet
    >>> from boostne import Embedding, write_atlas
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "atlas.parquet")
    ...     write_atlas(Embedding(["ann", "bob"], [[1, 0], [0, 1]]), path, positions=[[0, 0], [1, 1]])
    ...     print(parquet.read_table(path).column_names)
    ['id', 'x', 'y', 'vector']
    """
    from pyarrow import parquet

    if Path(path).suffix.lower() != ".parquet":
        raise ParameterError(f"{path}: the suffix must be .parquet, got {Path(path).suffix or 'none'!r}")
    if positions is None:
        rows = shown_rows(len(embedding), seed)
        points = flat_map(embedding.vectors[rows], seed) if len(rows) else np.zeros((0, _PLANE))
    else:
        rows, points = np.arange(len(embedding)), _checked_positions(positions, len(embedding))
    table = _atlas_table(embedding, rows, points, labels)
    with atomic_path(path) as temporary:
        parquet.write_table(table, temporary, write_page_checksum=True)


def _atlas_table(embedding: Embedding, rows: NDArray[np.int64], points: NDArray[Any], labels: Any) -> "pa.Table":
    import pyarrow as pa

    nodes = embedding.nodes[rows].tolist()
    ids = pa.array(nodes if embedding.nodes.dtype.kind == "i" else [str(node) for node in nodes])
    columns: dict[str, Any] = {"id": ids, "x": points[:, 0], "y": points[:, 1]}
    if labels is not None:
        texts = _label_texts(embedding, labels)
        columns["label"] = pa.array([texts[row] for row in rows.tolist()], pa.string())
    values = pa.array(np.ascontiguousarray(embedding.vectors[rows]).reshape(-1))
    columns["vector"] = pa.FixedSizeListArray.from_arrays(values, embedding.dimensions)
    return pa.table(columns)


def _checked_positions(positions: ArrayLike, n: int) -> NDArray[np.float64]:
    points = np.asarray(positions, dtype=np.float64)
    if points.shape != (n, _PLANE) or not np.isfinite(points).all():
        raise ParameterError(f"positions must be {n} finite rows of x and y, got shape {points.shape}")
    return points


def _label_texts(embedding: Embedding, labels: Any) -> list[str]:
    """Return the labels of each node as text; empty for a node without labels."""
    known = as_labels(labels)
    indicator, n_unknown = known.align(embedding.nodes)
    if n_unknown:
        logger.info("%d labeled nodes are not in the embedding and are ignored", n_unknown)
    names = [_one_field(name) for name in known.classes.tolist()]
    starts = indicator.indptr.tolist()
    columns = indicator.indices.tolist()
    return [", ".join(names[j] for j in sorted(columns[start:end])) for start, end in pairwise(starts)]


def _one_field(value: Any) -> str:
    """Return text without tabs, line breaks and other control characters."""
    return "".join(c if c.isprintable() else " " for c in str(value))
