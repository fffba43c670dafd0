"""What was computed before, found by what it was computed from.

An entry is a JSON file named by the SHA-256 of its key; the key says all that its value depends on. It is written
in one step, so a killed program leaves whole entries only, and the next run goes on from them.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from warnings import warn

from boostne.errors import ParameterError
from boostne.io.atomic import atomic_path, check_writable

Key = Mapping[str, Any]


class Cache:
    """A folder of computed values.

    Parameters
    ----------
    folder : Path
        Made if missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.put({"sum": [1, 2]}, 3)
    ...     cache.get({"sum": [1, 2]}), cache.get({"sum": [2, 2]})
    (3, None)
    """

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise ParameterError(f"{folder} is a file; give the name of a folder for the cache")
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / "entry.json")
        self.folder = folder

    def get(self, key: Key) -> Any:
        """Return the value of a key, or None; an entry that is damaged counts as missing, with a warning."""
        path = self.path(key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            whole = entry["key"] == _plain(key) and entry["sha256"] == _digest(entry["value"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            warn(f"the cache's entry {path} is damaged; it is computed again", stacklevel=2)
            return None
        return entry["value"]

    def put(self, key: Key, value: Any) -> None:
        """Store a value: numbers, strings, and lists and dicts of them."""
        entry = {"key": _plain(key), "sha256": _digest(value), "value": value}
        with atomic_path(self.path(key)) as temporary:
            temporary.write_text(_canonical(entry), encoding="utf-8")

    def path(self, key: Key) -> Path:
        """Return the file of a key, whether it is there or not."""
        return self.folder / f"{_digest(key)}.json"


def default_folder() -> Path:
    """Return the folder in the user's cache."""
    import pooch

    return Path(pooch.os_cache("boostne")) / "reproduce"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(key: Key) -> Any:
    """Return a key as it is read back: tuples as lists."""
    return json.loads(_canonical(key))


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()
