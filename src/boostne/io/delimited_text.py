"""Delimited text files as rows of fields: delimiters, comments, headers, line numbers."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path

import numpy as np

from boostne.errors import FileFormatError, ParameterError
from boostne.interop import ENDPOINT_COLUMNS
from boostne.io.files import open_binary

SAMPLE_LINES = 100  # for the detection of delimiter and header

_COMMENTS = "#%"
_BLANK = " \t"
_HEADERS = (
    *(set(pair) for pair in ENDPOINT_COLUMNS if pair != ("u", "v")),  # which may be node ids
    {"node", "label"},
    {"node", "class"},
    {"id", "label"},
    {"id", "class"},
)


@dataclass(frozen=True)
class TextFile:
    """The content of a delimited text file.

    Parameters
    ----------
    path
        The file, for error messages.
    raw
        Its content; every line ends with a newline.
    comments
        Lines that begin with one of these characters are comments.
    delimiter
        Separator of fields; a space stands for any run of spaces and tabs.
    """

    path: Path
    raw: bytes
    comments: str
    delimiter: str

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the fields of each line that is neither empty nor a comment."""
        for number, line in self.lines():
            yield number, split_fields(line, self.delimiter)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the line number and the text of each line that is neither empty nor a comment."""
        for number, line in enumerate(BytesIO(self.raw), start=1):
            try:
                text = line.decode().strip("\n")
            except UnicodeDecodeError as error:
                raise self.error(number, f"not UTF-8 text ({error.reason}): save the file as UTF-8") from None
            start = text.lstrip(_BLANK)[:1]
            if start and start not in self.comments:
                yield number, text

    def error(self, line: int, problem: str) -> FileFormatError:
        """Return an error that names the file and the line."""
        return FileFormatError(f"{self.path}, line {line}: {problem}")

    def cleaned(self) -> bytes:
        """Return the content without comments and empty lines; runs of delimiting spaces become one space."""
        raw = self.raw
        marks = [mark.encode() for mark in (*self.comments, *_BLANK, "\n")]
        if any(raw.startswith(mark) or b"\n" + mark in raw for mark in marks):
            comment = b"|".join(re.escape(mark.encode()) for mark in self.comments)
            skip = rb"(?m)^[ \t]*(?:(?:%s)[^\n]*)?\n" % (comment or rb"(?!)")
            raw = re.sub(skip, b"", raw)
        return _single_spaced(raw) if self.delimiter == " " else raw


def read_bytes(path: Path) -> bytes:
    """Read a text file with a newline at the end of each line; raise if it is binary or empty."""
    with open_binary(path) as stream:
        raw = stream.read().removeprefix(b"\xef\xbb\xbf")
    zero = raw.find(b"\0")
    if zero >= 0:
        raise FileFormatError(
            f"{path}: a binary file (zero byte at offset {zero}) instead of text; for other formats see format="
        )
    if not raw.strip():
        raise FileFormatError(f"{path}: the file is empty")
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw if raw.endswith(b"\n") else raw + b"\n"


def read_text(path: Path, delimiter: str | None, comments: str | None) -> TextFile:
    """Read a text file; detect its delimiter if none is given."""
    comments = _COMMENTS if comments is None else comments
    raw = read_bytes(path)
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r'):
        raise ParameterError(f"delimiter must be one character such as ',' or ' ', got {delimiter!r}")
    text = TextFile(path, raw, comments, delimiter or " ")
    sample = [line for _, line in islice(text.lines(), SAMPLE_LINES)]
    if not sample:
        raise FileFormatError(
            f"{path}: no data, only comments; lines that begin with one of {comments!r} are comments, see comments="
        )
    return text if delimiter else TextFile(path, raw, comments, _detect_delimiter(sample))


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

    It does if it contains usual names (source and target, node and label, …), or if it contains no number and some
    column below contains only numbers. A row with a field that recurs below is data.

    Examples
    --------
    >>> has_header([["user", "friend"], ["3", "4"]]), has_header([["ann", "bob"], ["bob", "eve"]])
    (True, False)
    """
    first, rest = rows[0], rows[1:]
    below = {field for row in rest for field in row}
    if any(_is_number(field) or field in below for field in first):
        return False
    names = {field.lower().replace("_", "") for field in first}
    if any(header <= names for header in _HEADERS):
        return True
    columns = list(zip(*rest, strict=False))
    return any(all(map(_is_number, column)) for column in columns)


def _is_number(field: str) -> bool:
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
