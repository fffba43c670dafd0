"""Files that are not what their suffix says, recognized by their first bytes and refused by name."""

import re
from pathlib import Path

from boostne.errors import FileFormatError

_SIGNATURES = (
    (b"\x1f\x8b", "a gzip file", "add .gz to its name"),
    (b"BZh", "a bzip2 file", "add .bz2 to its name"),
    (b"\xfd7zXZ\0", "an xz file", "add .xz to its name"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "add .zst to its name"),
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "save the sheet as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    (b"PAR1", "a Parquet file", "name it .parquet"),
    (b"\x89HDF", "an HDF5 file", "export the edges as CSV or Parquet"),
    (b"MATLAB 5.0", "a MATLAB file", "name it .mat"),
    (b"\x93NUMPY", "a NumPy array", "save edges as text, or a sparse matrix by scipy.sparse.save_npz"),
    (b"SQLite format 3\0", "an SQLite database", "export the table of edges as CSV"),
    (b"%PDF-", "a PDF document", "give a file of data"),
    (b"ARROW1", "an Arrow file", "write it as Parquet"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_HTML = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml")
_JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*[\[{])")
_ALTERNATING_ZEROS = re.compile(rb"(?:[^\0]\0){4}|(?:\0[^\0]){4}")


def refuse_other_formats(path: Path, head: bytes) -> None:
    """Raise FileFormatError, with the remedy, if the first bytes of a text file are those of another format."""
    for signature, name, remedy in _SIGNATURES:
        if head.startswith(signature) and (b"\0" in head or not head.isascii() or signature == b"%PDF-"):
            raise FileFormatError(f"{path}: {name} instead of text: {remedy}")
    if _PICKLE.match(head):
        raise FileFormatError(f"{path}: a pickle instead of text, which could run any code: save the graph as text")
    if _ALTERNATING_ZEROS.match(head):
        raise FileFormatError(f"{path}: UTF-16 text without a byte order mark: save the file as UTF-8")
    if _HTML.match(head):
        raise FileFormatError(f"{path}: a web page instead of data: download the file itself")
    if _XML.match(head):
        raise FileFormatError(f"{path}: XML instead of a table: if it is GraphML, name it .graphml, or see format=")


def looks_like_json(head: bytes) -> bool:
    """Return whether a file begins with an object, or with a list of lists or objects.

    Examples
    --------
    >>> looks_like_json(b'{"nodes": ['), looks_like_json(b"[1] [2]")
    (True, False)
    """
    return _JSON.match(head) is not None
