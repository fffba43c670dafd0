"""Tables of edges whose ids are integers, read in batches: an edge takes 8 bytes until all ids are known."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne import array_chunks
from boostne.edges import as_weights
from boostne.errors import FileFormatError
from boostne.integer_ids import Integers, encode_integers, narrow
from boostne.interop import Columns
from boostne.io.files import errors_naming
from boostne.io.reading_budget import ReadingBudget
from boostne.node_ids import missing_id_error

_FILE_BUFFER = 1 << 20  # bytes; without one, Arrow holds a column of a whole row group


class IntegerEdges(NamedTuple):
    """Edges between positions in an array of distinct ids."""

    ids: NDArray[np.int64]
    source: Integers
    target: Integers
    weights: NDArray[Any] | None


def has_integers(schema: Any, columns: Columns) -> bool:
    """Return whether the ids of a table are integers, and its weights, if any, numbers."""
    import pyarrow as pa

    kinds = [schema.field(name).type for name in (columns.source, columns.target)]
    values = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
    weight = None if columns.weight is None else schema.field(columns.weight).type
    numbers = weight is None or pa.types.is_integer(weight) or pa.types.is_floating(weight)
    return bool(numbers and all(map(pa.types.is_integer, values)))


def read_integer_edges(
    paths: Sequence[Path],
    files: Sequence[Path | IO[bytes]],
    schema: Any,
    columns: Columns,
    n_rows: int,
    budget: ReadingBudget,
    *,
    weighted: bool,
) -> IntegerEdges | None:
    """Read the edges in the parts of a table; None if an id is too large for 64 bits with a sign.

    Parameters
    ----------
    paths
        Names of the parts in messages.
    files
        The parts.
    schema, columns
        Their columns, for which :func:`has_integers` is true.
    n_rows
        Rows of all parts.
    budget
        The memory that may be used.
    weighted
        Whether the graph may have weights: those of the table, or how often an edge is listed.
    """
    budget.check_integer_table(n_rows, weighted=weighted)
    reader = _Reader(schema, columns, n_rows)
    for path, file in zip(paths, files, strict=True):
        with errors_naming(path, "parquet"):
            if not reader.read(file):
                return None
    reader.check(paths[0])
    ends = [reader.source.values, reader.target.values]
    budget.check_integers(ends)
    ids, (source, target) = encode_integers(ends)
    weights = reader.weights
    del reader, ends  # and the ids as they were in the file
    budget.check_edges(n_rows, len(ids), weighted=weighted)
    return IntegerEdges(ids, source, target, weights)


class _Reader:
    """Reads the columns of the parts of a table into arrays."""

    def __init__(self, schema: Any, columns: Columns, n_rows: int) -> None:
        self._columns = columns
        self._n_rows = n_rows
        self._end = 0
        self.source, self.target = _IdColumn(n_rows), _IdColumn(n_rows)
        self.weights: NDArray[Any] | None = None
        if columns.weight is not None:
            none = as_weights(schema.empty_table()[columns.weight].to_numpy())
            self.weights = np.empty(n_rows, dtype=none.dtype)

    def read(self, file: Path | IO[bytes]) -> bool:
        """Read a part; return whether all ids are in the range of 64-bit integers."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        names = [name for name in self._columns if name is not None]
        with ParquetFile(file, buffer_size=_FILE_BUFFER, pre_buffer=False) as opened:
            for batch in opened.iter_batches(array_chunks.CHUNK, columns=names):
                try:
                    self._add(batch)
                except pa.ArrowInvalid:
                    return False
        return True

    def _add(self, batch: Any) -> None:
        source, target, weight = self._columns
        start, self._end = self._end, self._end + len(batch)
        self.source.add(start, batch.column(source))
        self.target.add(start, batch.column(target))
        if self.weights is not None:
            found = as_weights(batch.column(weight).to_numpy(zero_copy_only=False))
            if found.dtype != self.weights.dtype:  # integers of which some are missing
                self.weights = self.weights.astype(np.float64, copy=False)
            self.weights[start : self._end] = found

    def check(self, path: Path) -> None:
        """Raise GraphError if an id is missing, and FileFormatError if there are fewer rows than announced."""
        for column in (self.source, self.target):
            if column.missing is not None:
                raise missing_id_error(column.missing)
        if self._end != self._n_rows:
            raise FileFormatError(f"{path}: {self._n_rows:,} rows are announced, but there are {self._end:,}")


class _IdColumn:
    """A column of ids: 32-bit integers as long as they suffice.

    Attributes
    ----------
    values : ndarray of int32 or int64
    missing : int or None
        The row of the first missing id.
    """

    def __init__(self, n_rows: int) -> None:
        self.values: Integers = np.empty(n_rows, dtype=np.int32)
        self.missing: int | None = None

    def add(self, start: int, column: Any) -> None:
        """Store the ids of some rows, an Arrow array; raise ArrowInvalid if one is beyond the range of int64."""
        import pyarrow as pa

        if column.null_count:
            if self.missing is None:
                self.missing = start + int(np.asarray(column.is_null()).argmax())
            return
        numbers = narrow(np.asarray(column.cast(pa.int64())))
        if numbers.dtype == np.int64:
            self.values = self.values.astype(np.int64, copy=False)
        self.values[start : start + len(numbers)] = numbers
