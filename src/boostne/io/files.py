"""Opening files, and saying which file was at fault."""

import gzip
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from boostne.errors import BoostneError, FileFormatError, GraphError, ParameterError


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading bytes; one that ends in ``.gz`` is decompressed on the way."""
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format, in lower case and without ``.gz``.

    Examples
    --------
    >>> suffix_of(Path("edges.CSV.gz"))
    '.csv'
    """
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()


def own_options(format_name: str, accepted: Collection[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a format takes; one that is given but not taken is an error.

    Examples
    --------
    >>> own_options("mat", ["variable"], {"variable": "A", "header": None})
    {'variable': 'A'}
    """
    for name, value in given.items():
        if name not in accepted and value is not None:
            raise ParameterError(f"{name}= has no meaning for format {format_name!r}")
    return {name: given[name] for name in accepted}


@contextmanager
def reading(path: Path, format_name: str) -> Iterator[None]:
    """Turn whatever a parser raises into an error that names the file.

    Parsers raise anything from KeyError to zlib.error on a damaged file; what the operating system has to say
    (no such file, no permission) stays as it is.
    """
    try:
        yield
    except (GraphError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None
    except (BoostneError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise FileFormatError(
            f"{path}: cannot be read as {format_name}: {reason}; "
            "the file is damaged, or of another format: see format="
        ) from error


def describe(variables: dict[str, Any]) -> str:
    """List named arrays with their shapes, for a message.

    Examples
    --------
    >>> import numpy as np
    >>> describe({"x": np.zeros((2, 3))})
    "'x' (2 × 3)"
    """
    return ", ".join(
        f"{name!r} ({' × '.join(map(str, getattr(value, 'shape', ()))) or type(value).__name__})"
        for name, value in variables.items()
    )
