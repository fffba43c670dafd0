"""X of a bipartite graph: the rows of its first side and the columns of its second."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.matrices.csr_builder import RowBlock, chunks
from boostne.matrices.source import CSRSource, DeviceRows, MatrixSource


def between_sides(source: MatrixSource, graph: Graph) -> MatrixSource:
    """Return the part of X between the two sides of a graph, all of X if it has none.

    Parameters
    ----------
    source : MatrixSource
        All of X.
    graph : Graph
        With the nodes of its first side before those of the second.
    """
    first = first_column(graph)
    if not first:
        return source
    if isinstance(source, CSRSource):
        X, _ = source.build()
        return CSRSource(X[:first, first:])
    return BlockSource(source, first)


def first_column(graph: Graph) -> int:
    """Return the number of nodes of the first side, which is where the second begins; 0 without sides."""
    if graph.sides is None:
        return 0
    first = int(np.count_nonzero(graph.sides))
    if not graph.sides[:first].all():
        raise GraphError("the nodes of the first side must come first: call permuted() on the graph")
    return first


class BlockSource(MatrixSource):
    """The first rows of another source, without its first columns.

    Parameters
    ----------
    source : MatrixSource
        Square.
    first : int
        Number of rows that are kept, and of columns that are left out.
    """

    def __init__(self, source: MatrixSource, first: int) -> None:
        self._source = source
        self._first = first
        self.shape = (first, source.shape[1] - first)
        self.dtype = source.dtype

    @property
    def nbytes(self) -> int:
        return self._source.nbytes

    def chunk_rows(self) -> int:
        return self._source.chunk_rows()

    def with_threads(self, threads: int) -> "BlockSource":
        return BlockSource(self._source.with_threads(threads), self._first)

    def rows(self, rows: range) -> list[RowBlock]:
        return [self._without_first_columns(block) for block in self._source.rows(rows)]

    def device_rows(self, device: str) -> DeviceRows | None:
        build = self._source.device_rows(device)
        if build is None:
            return None
        first, n_columns = self._first, self._source.shape[1]

        def write(nodes: NDArray[np.int64], out: Any) -> None:
            # Whole rows, few enough that they take no more memory than the result.
            for part in chunks(range(len(nodes)), max(1, out.numel() // n_columns)):
                whole = out.new_empty(len(part), n_columns)
                build(nodes[part.start : part.stop], whole)
                out[part.start : part.stop] = whole[:, first:]

        return write

    def _without_first_columns(self, block: RowBlock) -> RowBlock:
        kept = block.columns >= self._first
        kept_before = np.concatenate([[0], np.cumsum(kept)])
        counts = np.diff(kept_before[np.concatenate([[0], np.cumsum(block.counts)])])
        columns = block.columns[kept] - np.int32(self._first)
        return RowBlock(counts, columns, block.values[kept], block.dropped)
