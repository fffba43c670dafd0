"""Strings in CSV files that spreadsheets would execute as formulas.

A spreadsheet evaluates a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break, so that an id could
run a program or send data elsewhere. Such strings get an apostrophe in front, which spreadsheets take as "this is
text"; strings that begin with an apostrophe get another one, so that every string can be restored.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = r"\A([=+\-@\t\r\n'])"
_ESCAPED = r"\A'([=+\-@\t\r\n'])"


def escape_formula(text: str) -> str:
    """Return a string that no spreadsheet executes.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula("'tis"), escape_formula("a=b")
    ("'=1+1", "''tis", 'a=b')
    """
    return re.sub(_PLAIN, r"'\1", text)


def escape_formulas(texts: "pa.Array") -> "pa.Array":
    """Return an Arrow array of strings, escaped by :func:`escape_formula`."""
    from pyarrow import compute

    return compute.replace_substring_regex(texts, _PLAIN, r"'\1")


def unescape_formulas(texts: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Restore strings that were escaped by :func:`escape_formulas`."""
    from pyarrow import compute

    return compute.replace_substring_regex(texts, _ESCAPED, r"\1")
