"""The files of a checkpoint: arrays or JSON, with their origin and a checksum over everything.

The origin is a dictionary of JSON types: the run that a file belongs to, what it contains, and checksums of the files
that this was computed from. It is stored in the array ``origin`` of an ``.npz`` file, as JSON. A file that is damaged
raises FileFormatError; an intact one with another origin than expected raises CheckpointError.
"""

import errno
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import CheckpointError, FileFormatError
from boostne.io.atomic import atomic_path, describe_os_error
from boostne.io.numpy_files import open_archive

Origin = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]

CHECKSUM_BYTES = 32
_CHECKSUM = "sha256"
_NUMBERS = "biuf"  # kinds of dtypes
_PROBLEMS = {
    "run": "belongs to another run",
    "content": "contains {found!r} instead of {expected!r}",
    "form": "was computed from another form of the connectivity matrix",
    "matrix": "was computed from another connectivity matrix than the one stored next to it",
    "previous": "was not computed from the level stored before it",
}


def level_name(number: int) -> str:
    """Return how the names of the files of a level begin, counted from 1."""
    return f"level-{number:02d}"


def checksum(origin: Origin, arrays: Arrays | None = None) -> str:
    """Return the SHA-256 checksum of an origin and of the names, types, shapes and values of arrays."""
    arrays = arrays or {}
    types = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    digest = hashlib.sha256(json.dumps([origin, types], sort_keys=True).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def describe_damage(path: Path, error: OSError | FileFormatError) -> str:
    """Return how a file is damaged that cannot be read; raise CheckpointError if it may be intact."""
    if isinstance(error, FileFormatError):
        return str(error)
    reason = describe_os_error(error)
    if error.errno in (None, errno.ENOENT, errno.EIO):
        return reason
    raise CheckpointError(
        f"{path} cannot be read ({reason}); make it readable, or delete it: its content is then computed again"
    ) from error


def write_arrays(path: Path, origin: Origin, arrays: Arrays, total: str) -> None:
    """Write arrays with their origin and ``total``, their checksum, to an ``.npz`` file."""
    label = np.array(json.dumps({**origin, _CHECKSUM: total}))
    named: dict[str, Any] = {"origin": label, **arrays}
    with atomic_path(path) as temporary:
        np.savez(temporary, **named)


def read_arrays(path: Path, expected: Origin, names: Iterable[str], optional: str = "") -> tuple[Arrays, str]:
    """Read arrays, and one more if it exists; returns them and their checksum.

    Parameters
    ----------
    path : Path
    expected : mapping
        The origin; it is checked before large arrays are read. An unknown checksum of another file is None and equals
        any other.
    names : iterable of str
        The arrays to read.
    optional : str
        An array to read if it exists.
    """
    with open_archive(path) as archive:
        origin, stored = _split_checksum(path, json.loads(archive.read("origin").item()))
        _check_origin(path, origin, expected)
        wanted = [*names, *(name for name in archive.names if name == optional)]
        arrays = {name: archive.read(name) for name in wanted}
    for name, array in arrays.items():
        if array.dtype.kind not in _NUMBERS:  # a checksum is of numbers only
            raise FileFormatError(f"{path}: {name} must contain numbers, found the type {array.dtype}")
    found = checksum(origin, arrays)
    if found != stored:
        raise FileFormatError(f"{path}: its checksum does not match its content")
    return arrays, found


def check_array(path: Path, name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise FileFormatError unless an array has this shape and type, and values that are finite and not negative."""
    if array.shape != shape or array.dtype != dtype:
        raise FileFormatError(
            f"{path}: {name} must have shape {shape} and type {dtype}, found {array.shape} and {array.dtype}"
        )
    # Without temporary arrays, and false for NaN.
    if array.size and not (array.min() >= 0 and array.max() < np.inf):
        raise FileFormatError(f"{path}: {name} must be finite and not negative")


def write_json(path: Path, content: Origin) -> None:
    """Write an origin with its checksum."""
    with atomic_path(path) as temporary:
        text = json.dumps({**content, _CHECKSUM: checksum(content)}, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")


def parse_json(path: Path) -> dict[str, Any]:
    """Read a JSON object without checking anything else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise FileFormatError(f"{path}: not a JSON object")
    return content


def read_json(path: Path, expected: Origin) -> dict[str, Any]:
    """Read what :func:`write_json` wrote; its origin must contain ``expected``."""
    content = verified(path, parse_json(path))
    _check_origin(path, content, expected)
    return content


def verified(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a JSON file without its checksum; raise FileFormatError if that does not match."""
    origin, stored = _split_checksum(path, content)
    if checksum(origin) != stored:
        raise FileFormatError(f"{path}: its checksum does not match its content")
    return origin


def _split_checksum(path: Path, content: Any) -> tuple[dict[str, Any], Any]:
    if not isinstance(content, dict):
        raise FileFormatError(f"{path}: its origin is not a JSON object")
    return {name: value for name, value in content.items() if name != _CHECKSUM}, content.get(_CHECKSUM)


def _check_origin(path: Path, origin: Origin, expected: Origin) -> None:
    for name, value in expected.items():
        found = origin.get(name)
        unknown = name == "matrix" and None in (found, value)  # not every run stores the matrix
        if found != value and not unknown:
            problem = _PROBLEMS[name].format(found=found, expected=value)
            raise CheckpointError(
                f"{path} {problem}; restore the file of this run, or delete it: its content is then computed again"
            )
