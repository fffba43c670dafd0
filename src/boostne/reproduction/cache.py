"""On-disk cache of computed values.

An entry is a JSON file named by the SHA-256 of its key, which contains everything that the value depends on. Entries
are written atomically, so an interrupted run leaves only complete entries, and the next run resumes from them.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from warnings import warn

from boostne.errors import CheckpointWarning, ParameterError
from boostne.io.atomic import atomic_path, check_writable

Key = Mapping[str, Any]


class Cache:
    """A cache folder.

    Parameters
    ----------
    folder : Path
        Created if missing.

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
            raise ParameterError(f"{folder} is a file; the cache must be a folder")
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / "entry.json")
        self.folder = folder

    def get(self, key: Key) -> Any:
        """Return the value of a key, or None; a corrupt entry counts as missing, with a warning."""
        path = self.path(key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            valid = entry["key"] == _as_read(key) and entry["sha256"] == _digest(entry["value"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            valid = False
        if not valid:
            warn(f"cache entry {path} is corrupt and will be recomputed", CheckpointWarning, stacklevel=2)
            return None
        return entry["value"]

    def put(self, key: Key, value: Any) -> None:
        """Store a JSON-serializable value."""
        entry = {"key": _as_read(key), "sha256": _digest(value), "value": value}
        with atomic_path(self.path(key)) as temporary:
            temporary.write_text(_canonical(entry), encoding="utf-8")

    def path(self, key: Key) -> Path:
        """Return the file of a key, which may not exist."""
        return self.folder / f"{_digest(key)}.json"


def default_folder() -> Path:
    """Return the default folder, inside the user's cache."""
    import pooch

    return Path(pooch.os_cache("boostne")) / "reproduce"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _as_read(key: Key) -> Any:
    """Return a key as JSON reads it back, with lists for tuples."""
    return json.loads(_canonical(key))


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()
