"""Delimited text files as rows of fields, in blocks: delimiters, comments, headers, line numbers."""

import csv
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np

from boostne.errors import FileFormatError, ParameterError
from boostne.interop import ENDPOINT_COLUMNS
from boostne.io.compression import open_text
from boostne.io.reading_budget import ReadingBudget
from boostne.io.recognition import looks_like_json, refuse_other_formats

SAMPLE_LINES = 100  # for the detection of delimiter and header
_HEAD = 1 << 10  # bytes in which other formats are recognized
PYTHON_BLOCK = 1 << 20  # bytes at a time for formats whose fields become Python strings, 20 to 70 bytes for each byte

DELIMITER_NAMES = {" ": "spaces", "\t": "tabs", ",": "commas", ";": "semicolons"}
NODE_COLUMNS = ("node", "nodeid", "id", "vertex", "name")
LABEL_COLUMNS = ("label", "labels", "class", "category", "community", "group", "target")

_COMMENTS = "#%"
_BLANK = " \t"
_HEADERS = (
    *(set(pair) for pair in ENDPOINT_COLUMNS if pair != ("u", "v")),  # which may be node ids
    *({node, label} for node in NODE_COLUMNS for label in LABEL_COLUMNS),
)
# Words that name a column if every field of the first line is one, apart from 1, 2, "id" or "s" at their end.
COLUMN_WORDS = {
    "account", "actor", "address", "author", "buyer", "caller", "callee", "category", "child", "cited", "citing",
    "class", "cluster", "community", "customer", "dest", "destination", "dst", "edge", "end", "entity", "followed",
    "followee", "follower", "friend", "from", "gene", "group", "head", "id", "item", "key", "label", "left",
    "member", "movie", "name", "neighbor", "node", "object", "origin", "page", "paper", "parent",
    "person", "product", "protein", "receiver", "recipient", "right", "seller", "sender", "site", "source", "src",
    "start", "subject", "subreddit", "tag", "tail", "target", "to", "topic", "type", "url", "user", "vertex",
    "weight", "word",
}  # fmt: skip


@dataclass(frozen=True)
class TextBlock:
    """Consecutive lines of a delimited text file.

    Parameters
    ----------
    path
        The file, for error messages.
    raw
        The lines; each ends with a newline.
    first_line
        Number of the first line in the file.
    comments
        Lines that begin with one of these characters are comments.
    delimiter
        Separator of fields; a space stands for any run of spaces and tabs.
    """

    path: Path
    raw: bytes
    first_line: int
    comments: str
    delimiter: str

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the fields of each line that is neither empty nor a comment."""
        for number, line in self.lines():
            yield number, split_fields(line, self.delimiter)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the line number and the text of each line that is neither empty nor a comment."""
        for number, line in enumerate(BytesIO(self.raw), start=self.first_line):
            try:
                text = line.decode().strip("\n")
            except UnicodeDecodeError as error:
                raise self.error(number, f"not UTF-8 text ({error.reason}): save the file as UTF-8") from None
            start = text.lstrip(_BLANK)[:1]
            if start and start not in self.comments:
                yield number, text

    def commented_rows(self, width: int) -> list[str]:
        """Return the comments that look like rows: ``#1,2``, but not ``# a comment``, in a file with two columns."""
        if not self.comments or not any(mark.encode() in self.raw for mark in self.comments):
            return []
        pattern = rb"(?m)^[ \t]*(?:%s)[^ \t\n][^\n]*$" % _alternatives(self.comments)
        lines = [match.decode(errors="replace") for match in re.findall(pattern, self.raw)]
        rows = [split_fields(line.lstrip(_BLANK)[1:], self.delimiter) for line in lines]
        return [
            line
            for line, row in zip(lines, rows, strict=True)
            if len(row) == width and all(row) and not has_usual_names(row)
        ]

    def error(self, line: int, problem: str) -> FileFormatError:
        """Return an error that names the file and the line."""
        return FileFormatError(f"{self.path}, line {line}: {problem}")

    def cleaned(self) -> bytes:
        """Return the lines without comments and empty lines; runs of delimiting spaces become one space."""
        raw = self.raw
        marks = [mark.encode() for mark in (*self.comments, *_BLANK, "\n")]
        if any(raw.startswith(mark) or b"\n" + mark in raw for mark in marks):
            skip = rb"(?m)^[ \t]*(?:(?:%s)[^\n]*)?\n" % (_alternatives(self.comments) or rb"(?!)")
            raw = re.sub(skip, b"", raw)
        return _single_spaced(raw) if self.delimiter == " " else raw


@dataclass(frozen=True)
class TextFile:
    """A delimited text file that is read in blocks, once.

    Parameters
    ----------
    path
        The file, for error messages.
    sample
        The first blocks.
    rest
        The remaining blocks.
    """

    path: Path
    sample: list[TextBlock]
    rest: Iterator[TextBlock]

    @property
    def delimiter(self) -> str:
        """Separator of fields."""
        return self.sample[0].delimiter

    def describe(self) -> str:
        """Return how lines are separated into fields, for notes."""
        return f"separated by {DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))}"

    def sample_rows(self) -> list[tuple[int, list[str]]]:
        """Return the line number and the fields of the first rows."""
        return list(islice(chain.from_iterable(block.rows() for block in self.sample), SAMPLE_LINES))

    def blocks(self) -> Iterator[TextBlock]:
        """Yield the blocks; the first contains the first row."""
        while self.sample:
            yield self.sample.pop(0)
        yield from self.rest


def read_text(
    path: Path, delimiter: str | None, comments: str | None, budget: ReadingBudget, block_bytes: int
) -> TextFile:
    """Open a text file to be read in blocks of about ``block_bytes``; detect its delimiter if none is given."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r'):
        raise ParameterError(f"delimiter must be one character such as ',' or ' ', got {delimiter!r}")
    comments = _COMMENTS if comments is None else comments
    blocks = (
        TextBlock(path, raw, number, comments, delimiter or " ")
        for number, raw in _numbered_blocks(path, budget, block_bytes)
    )
    lines: list[str] = []
    sample = []
    while len(lines) < SAMPLE_LINES and (block := next(blocks, None)) is not None:
        found = [line for _, line in islice(block.lines(), SAMPLE_LINES - len(lines))]
        if found:
            sample.append(block)
            lines += found
    if not lines:
        raise FileFormatError(
            f"{path}: no data, only comments; lines that begin with one of {comments!r} are comments, see comments="
        )
    mark = delimiter or _detect_delimiter(lines)
    return TextFile(
        path, [replace(block, delimiter=mark) for block in sample], (replace(block, delimiter=mark) for block in blocks)
    )


def count_lines(path: Path) -> int:
    """Return the number of newlines in a file."""
    with path.open("rb", buffering=0) as stream:
        chunks = iter(lambda: stream.read(1 << 20), b"")
        return sum(chunk.count(b"\n") for chunk in chunks)


def check_is_text(path: Path, raw: bytes, offset: int = 0) -> None:
    """Raise FileFormatError for zero bytes, which no text contains; ``offset`` is the position in the file."""
    zero = raw.find(b"\0")
    if zero >= 0:
        raise FileFormatError(
            f"{path}: a binary file (zero byte at offset {offset + zero}) instead of text; "
            "for other formats see format="
        )


def _numbered_blocks(path: Path, budget: ReadingBudget, block_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first line and the lines of each block that is not blank, with newlines as line ends."""
    number, offset, empty = 1, 0, True
    with open_text(path, budget) as stream:
        while raw := _read_lines(stream, budget, block_bytes):
            if not offset:
                _check_head(path, raw[:_HEAD])
            check_is_text(path, raw, offset)
            lines = raw if offset else raw.removeprefix(BOM_UTF8)
            offset += len(raw)
            if b"\r" in lines:
                lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if lines and not lines.isspace():
                empty = False
                yield number, lines if lines.endswith(b"\n") else lines + b"\n"
            number += lines.count(b"\n")
    if empty:
        raise FileFormatError(f"{path}: the file is empty")


def _check_head(path: Path, head: bytes) -> None:
    refuse_other_formats(path, head)
    if looks_like_json(head):
        raise FileFormatError(f"{path}: JSON instead of lines: if it is a graph, name it .json or pass format='json'")


def _read_lines(stream: IO[bytes], budget: ReadingBudget, block_bytes: int) -> bytes:
    """Read ``block_bytes`` and the remainder of the last line."""
    raw = stream.read(block_bytes)
    if len(raw) == block_bytes:
        raw += stream.readline(block_bytes)
    # A line can be of any length.
    while len(raw) > block_bytes and not raw.endswith(b"\n"):
        budget.check_so_far(2 * len(raw) + block_bytes, f"{len(raw):,} bytes of a line")
        more = stream.readline(len(raw))
        raw += more
        if not more:
            break
    return raw


def split_fields(line: str, delimiter: str) -> list[str]:
    """Split a line into stripped fields; fields may be quoted unless the delimiter is a space.

    Examples
    --------
    >>> split_fields(" 1  2", " "), split_fields('"Smith, J", 3', ",")
    (['1', '2'], ['Smith, J', '3'])
    """
    if delimiter == " ":
        return [field.strip() for field in line.replace("\t", " ").split(" ") if field]
    try:
        fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:  # a field exceeds the size limit of the csv module
        fields = line.split(delimiter)
    return [field.strip() for field in fields]


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row contains column names.

    It does if it contains usual names (source and target, node and label, …) or only words that name columns (user,
    friend, …), or if it contains no number and some column below contains only numbers. A row with a field that recurs
    below is data.

    Examples
    --------
    >>> has_header([["user", "friend"], ["3", "4"]]), has_header([["ann", "bob"], ["bob", "eve"]])
    (True, False)
    """
    first, rest = rows[0], rows[1:]
    below = {field for row in rest for field in row}
    if any(is_number(field) or field in below for field in first):
        return False
    if has_usual_names(first):
        return True
    # If the second line is made of such words, too, they are ids: user1, user2, …
    if all(map(_is_column_word, first)) and not all(map(_is_column_word, next(iter(rest), first))):
        return True
    columns = list(zip(*rest, strict=False))
    return any(all(map(is_number, column)) for column in columns)


def has_usual_names(row: Sequence[str]) -> bool:
    """Return whether a row contains usual column names, such as source and target."""
    names = set(map(normalized_name, row))
    return any(header <= names for header in _HEADERS)


def normalized_name(name: str) -> str:
    """Return the name of a column in lower case, without spaces, hyphens and underscores."""
    return re.sub("[ _-]", "", name.lower())


def _is_column_word(field: str) -> bool:
    name = re.sub("[12]$", "", normalized_name(field))
    return not COLUMN_WORDS.isdisjoint({name, name.removesuffix("id"), name.removesuffix("s")})


def _alternatives(characters: str) -> bytes:
    return b"|".join(re.escape(character.encode()) for character in characters)


def is_number(field: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _detect_delimiter(lines: Sequence[str]) -> str:
    # Semicolon before comma: if both are in every line, the comma is a decimal separator.
    return next((mark for mark in "\t;," if all(mark in line.strip(_BLANK) for line in lines)), " ")


def _single_spaced(raw: bytes) -> bytes:
    raw = raw.replace(b"\t", b" ")
    if not any(mark in raw for mark in (b"  ", b" \n", b"\n ")) and not raw.startswith(b" "):
        return raw
    space, newline = ord(" "), ord("\n")
    data = np.frombuffer(raw, dtype=np.uint8)
    # Remove all but the last space of each run and trailing spaces, then leading spaces.
    after = np.append(data[1:], newline)
    data = data[~((data == space) & ((after == space) | (after == newline)))]
    before = np.insert(data[:-1], 0, newline)
    return bytes(data[~((data == space) & (before == newline))])
