"""Columns of ids that are read as text, in blocks."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.integer_ids import Integers, encode_integers, narrow
from boostne.io.reading_budget import ReadingBudget
from boostne.node_ids import canonical_integers, encode_text_ids

_GROUP_BYTES = 1 << 25


class TextIdColumns:
    """Columns of ids, added block by block and encoded together.

    Blocks of canonical integers are stored as integers. Others are collected into groups, which are stored as indices
    into a dictionary of their own: the larger a group, the more often its ids recur.

    Parameters
    ----------
    n_columns
        Number of columns; they may have different lengths.
    """

    def __init__(self, n_columns: int) -> None:
        self._blocks: list[list[Any]] = [[] for _ in range(n_columns)]
        self._group: list[list[Any]] = [[] for _ in range(n_columns)]
        self._group_bytes = 0
        self._all_integers = True

    def add(self, *columns: Any) -> bool:
        """Add a block of each column: Arrow arrays of strings, or lists of them; return whether an id is empty.

        White space around an id is ignored.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = [
            column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column, pa.string())])
            for column in columns
        ]
        if self._all_integers:
            numbers = [canonical_integers(text) for text in texts]
            if None in numbers:
                numbers = [canonical_integers(pc.utf8_trim_whitespace(text)) for text in texts]
            if None not in numbers:
                for blocks, block in zip(self._blocks, numbers, strict=True):
                    blocks.append(narrow(np.asarray(block)))
                return False
            self._blocks = [[_to_dictionary(block) for block in blocks] for blocks in self._blocks]
            self._all_integers = False
        for group, text in zip(self._group, texts, strict=True):
            group.extend(text.chunks)
            self._group_bytes += text.nbytes
        if self._group_bytes > _GROUP_BYTES:
            self._encode_group()
        return any(pc.min(pc.binary_length(pc.utf8_trim_whitespace(text))).as_py() == 0 for text in texts)

    def has_whole_floats(self, ids: NDArray[Any]) -> bool:
        """Return whether the encoded ids are integers although some were written as floats, such as ``1.0``."""
        return ids.dtype.kind == "i" and not self._all_integers

    def _encode_group(self) -> None:
        import pyarrow as pa

        for blocks, group in zip(self._blocks, self._group, strict=True):
            blocks.append(pa.chunked_array(group, pa.string()).dictionary_encode().combine_chunks())
            group.clear()
        self._group_bytes = 0

    def encode(self, budget: ReadingBudget) -> tuple[NDArray[Any], list[Integers]]:
        """Return the distinct ids, sorted, and the position of each entry; the blocks are released.

        As :func:`~boostne.node_ids.encode_text_ids`: ids are integers if all are canonical integers.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._all_integers:
            self._encode_group()
        blocks, self._blocks = self._blocks, []
        if self._all_integers:
            columns = [_concatenate(blocks.pop(0)) for _ in range(len(blocks))]
            budget.check_integers(columns)
            return encode_integers(columns)
        ends = np.cumsum([0, *(len(column) for column in blocks)])
        merged = pa.chunked_array([block for column in blocks for block in column])
        blocks.clear()
        dictionaries = [block.dictionary for block in merged.chunks]
        budget.check_dictionary(sum(map(len, dictionaries)), sum(block.nbytes for block in dictionaries))
        del dictionaries
        merged = merged.unify_dictionaries()
        dictionary = merged.chunk(0).dictionary
        widest = pc.max(pc.utf8_length(dictionary)).as_py() or 0
        budget.check_text_ids(len(dictionary), dictionary.nbytes, widest, len(merged))
        del dictionary
        return encode_text_ids(
            *(pa.chunked_array(merged.chunks[start:end], merged.type) for start, end in pairwise(ends))
        )


def _to_dictionary(numbers: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(numbers).cast(pa.string()).dictionary_encode()


def _concatenate(blocks: list[Integers]) -> Integers:
    """Concatenate blocks of integers, releasing each of them."""
    wide = any(block.dtype == np.int64 for block in blocks)
    whole: Integers = np.empty(sum(map(len, blocks)), dtype=np.int64 if wide else np.int32)
    end = len(whole)
    while blocks:
        block = blocks.pop()
        whole[end - len(block) : end] = block
        end -= len(block)
    return whole
