"""Memory that reading a file takes, estimated before it is allocated.

The constants are measured by ``python -m benchmarks reading_memory``, as bytes beyond what the process holds already.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostne import array_chunks
from boostne.edges import index_dtype
from boostne.errors import MemoryLimitError
from boostne.integer_ids import Integers, most_distinct
from boostne.memory import MemoryBudget, format_bytes

_PARSED_BYTE = 24  # Arrow's working memory for a block of text
_PARSED_LINE = 50
_PARSER = 120_000_000  # the same for a block of the usual size
_LINE = 34  # store an edge and build the graph
_INTEGERS = 8  # the ends of an edge, as numbers of 32 bits
_INTEGER_CODE = 4  # the position of an integer id; a distinct id takes three times its width and a byte meanwhile
_EDGE = 18  # build the graph from the ends of an edge, of which 16 stay
_WEIGHT = 40  # more for its weight, or for the sum of several
_WIDE_INDICES = 16  # more if the entries of the matrix are too many for 32-bit indices
_NODE = 40  # ids and row pointers
_HASHED_ID = 50  # an id in a hash table
_CODE = 20  # the position of an id, before and after sorting
_TEXT_ID = 160  # a distinct text id as Arrow and Python strings
_TEXT_ID_CHARACTER = 12  # twice in a fixed-width array, and its bytes
_CHUNK_ROW = 500  # working memory for a row of a chunk
_SPLIT_BYTE = 70  # of text whose fields become Python strings
_LABEL = 135  # encode a node and its label, and build the labels
_TABLE_EDGE = 220  # as _LINE, with columns of other types
_XML_ELEMENT = 1500  # in an element tree, and as a node or an edge of networkx
_GML_RECORD = 950
_JSON_BYTE = 30  # of empty lists and objects, the densest content
_MATRIX_ENTRY = 50  # copies, a transpose and the checks of an adjacency matrix
_MATRIX_ROW = 40
_REMEDY = "Raise the limit, or read the file on a machine with more memory."


@dataclass(frozen=True)
class ReadingBudget:
    """The memory that may be used to read a file.

    Parameters
    ----------
    path
        The file, for error messages.
    memory_limit
        Upper bound on the memory of the process; None means 80 % of the available memory.
    """

    path: Path
    memory_limit: Any = None

    def left(self) -> int | None:
        """Return the bytes that may still be allocated; None if unknown."""
        return MemoryBudget.within(self.memory_limit).size

    def check(self, needed: float, content: str = "the file") -> None:
        """Raise MemoryLimitError unless ``needed`` bytes may be allocated in addition to those in use."""
        MemoryBudget.within(self.memory_limit).check(needed, f"{self.path}: reading {content}", _REMEDY)

    def check_so_far(self, needed: float, content: str) -> None:
        """Raise MemoryLimitError if what is known of a file exceeds the budget; its total size is not known yet."""
        if not MemoryBudget.within(self.memory_limit).fits(needed):
            raise self.exceeded(f"more than {content}")

    def exceeded(self, content: str = "the file") -> MemoryLimitError:
        """Return the error for a file that exceeds the budget by an unknown amount."""
        left = self.left()
        allowed = "is available" if left is None else f"the {format_bytes(left)} that may be used"
        return MemoryLimitError(f"{self.path}: reading {content} would need more memory than {allowed}. {_REMEDY}")

    def fits_lines(self, n_lines: float, n_bytes: int) -> bool:
        """Return whether lines of text, one edge each, can be read."""
        return MemoryBudget.within(self.memory_limit).fits(_lines_bytes(n_lines, n_bytes))

    def check_lines(self, n_lines: int, n_bytes: int) -> None:
        """Raise MemoryLimitError unless lines of text, one edge each, can be read."""
        self.check(_lines_bytes(n_lines, n_bytes), f"{n_lines:,} lines")

    def check_block(self, n_edges: int, block: bytes, *, weighted: bool) -> None:
        """Raise MemoryLimitError unless a block of text can be parsed, and a graph built from the edges before it."""
        parsing = len(block) * _PARSED_BYTE + block.count(b"\n") * _PARSED_LINE
        self.check_so_far(max(_graph_bytes(n_edges, weighted=weighted), parsing), f"{n_edges:,} edges")

    def check_lists(self, n_edges: int, block: bytes, *, weighted: bool) -> None:
        """Raise MemoryLimitError unless a block of lists can be split, and a graph built from the lists before it."""
        needed = max(_graph_bytes(n_edges, weighted=weighted), len(block) * _SPLIT_BYTE)
        self.check_so_far(needed, f"{n_edges:,} edges")

    def check_edges(self, n_edges: int, n_nodes: int, *, weighted: bool) -> None:
        """Raise MemoryLimitError unless a graph can be built from edges in memory."""
        self.check(_graph_bytes(n_edges, n_nodes, weighted=weighted), f"{n_edges:,} edges")

    def check_dictionary(self, n_ids: int, n_bytes: int) -> None:
        """Raise MemoryLimitError unless ids, of which some may be equal, can be merged to a dictionary."""
        self.check(n_ids * _HASHED_ID + n_bytes, f"{n_ids:,} node ids")

    def check_text_ids(self, n_ids: int, n_bytes: int, widest: int, n_entries: int) -> None:
        """Raise MemoryLimitError unless distinct text ids can be sorted, and their occurrences encoded."""
        needed = n_ids * (_TEXT_ID + _TEXT_ID_CHARACTER * widest) + n_bytes + n_entries * _CODE
        self.check(needed, f"{n_ids:,} node ids")

    def check_table(self, n_rows: int, n_bytes: int, *, weighted: bool) -> None:
        """Raise MemoryLimitError unless a graph can be built from a table whose columns have ``n_bytes``."""
        needed = n_rows * (_TABLE_EDGE + weighted * _WEIGHT) + 2 * n_bytes
        self.check(needed, f"{n_rows:,} rows")

    def check_integer_table(self, n_rows: int, *, weighted: bool) -> None:
        """Raise MemoryLimitError unless a table of integers can be read; its nodes are counted later."""
        self.check(integer_table_bytes(n_rows, 0, weighted=weighted), f"{n_rows:,} rows")

    def check_integers(self, columns: Sequence[Integers]) -> None:
        """Raise MemoryLimitError unless the integer ids of some columns can be encoded."""
        n_ids = sum(map(len, columns))
        width = max(column.itemsize for column in columns)
        self.check(n_ids * _INTEGER_CODE + most_distinct(columns) * (3 * width + 1), f"{n_ids:,} node ids")

    def check_xml(self, n_elements: int, n_bytes: int) -> None:
        """Raise MemoryLimitError unless networkx can read a GraphML file with these elements."""
        self.check_so_far(n_elements * _XML_ELEMENT + n_bytes, f"{n_elements:,} XML elements")

    def check_gml(self, n_records: int, n_bytes: int) -> None:
        """Raise MemoryLimitError unless networkx can read a GML file with these records."""
        self.check_so_far(n_records * _GML_RECORD + 4 * n_bytes, f"{n_records:,} GML records")

    def check_json(self, n_bytes: int) -> None:
        """Raise MemoryLimitError unless a JSON file of this size can be parsed."""
        self.check(n_bytes * _JSON_BYTE, f"{n_bytes:,} bytes of JSON")

    def check_labels(self, n_labels: int, block: bytes = b"") -> None:
        """Raise MemoryLimitError unless labels can be built from pairs of a node and a label, and a block parsed."""
        self.check_so_far(max(n_labels * _LABEL, len(block) * _SPLIT_BYTE), f"{n_labels:,} labels")

    def check_matrix(self, n_rows: int, n_entries: int, working: int = 0) -> None:
        """Raise MemoryLimitError unless a graph can be built from a matrix; ``working`` is for reading it."""
        needed = n_rows * _MATRIX_ROW + n_entries * _MATRIX_ENTRY + working
        self.check(needed, f"a matrix of {n_rows:,} rows and {n_entries:,} entries")


def integer_table_bytes(n_rows: int, n_nodes: int, *, weighted: bool) -> int:
    """Return the peak memory of reading a table whose ids are integers of at most 32 bits."""
    chunk = min(n_rows, array_chunks.CHUNK) * _CHUNK_ROW
    return n_rows * _INTEGERS + _graph_bytes(n_rows, n_nodes, weighted=weighted) + chunk


def _graph_bytes(n_edges: int, n_nodes: int = 0, *, weighted: bool) -> int:
    """Return the peak memory of building a graph from the ends of its edges."""
    return n_edges * (_EDGE + weighted * _WEIGHT) + _wide_index_bytes(n_edges, n_nodes) + n_nodes * _NODE


def _wide_index_bytes(n_edges: int, n_nodes: int = 0) -> int:
    return n_edges * _WIDE_INDICES if index_dtype(2 * n_edges, n_nodes) is np.int64 else 0


def _lines_bytes(n_lines: float, n_bytes: int) -> float:
    parsing = min(n_bytes * _PARSED_BYTE + n_lines * _PARSED_LINE, _PARSER)
    return n_lines * _LINE + _wide_index_bytes(int(n_lines)) + parsing
