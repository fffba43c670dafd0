"""Available memory, memory budgets, and sizes in bytes."""

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostne.address_space import address_space_left
from boostne.errors import MemoryLimitError, ParameterError

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_PREFIXES = " kmgtpe"
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*(?:([kMGTPE])(i?))?B?\s*", re.IGNORECASE)
_STEP = 1000  # from one unit to the next
_BINARY_STEP = 1024
_SMALL = 10  # sizes below this are shown with one decimal
_SHARE = 0.8  # usable share of the available memory if no limit is set: other processes need some, too
_MARGIN = 0.95  # usable share of a limit: the needs of a fit are only known approximately


def available_memory() -> int | None:
    """Return the bytes that this process can still allocate, within its limits; None if unknown."""
    candidates = [_meminfo_available(), _cgroup_available(), address_space_left()]
    known = [value for value in candidates if value is not None]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def resident_memory() -> int:
    """Return the resident set size of this process in bytes; 0 if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def format_bytes(size: float) -> str:
    """Format a size in decimal units.

    Examples
    --------
    >>> format_bytes(161_255_504)
    '161 MB'
    >>> format_bytes(1_600_000_000)
    '1.6 GB'
    """
    for unit in _UNITS:
        if size < _STEP or unit == _UNITS[-1]:
            break
        size /= _STEP
    return f"{size:.1f} {unit}" if size < _SMALL and unit != "B" else f"{size:.0f} {unit}"


def parse_bytes(name: str, size: Any) -> int:
    """Convert a size such as "2GB" or "750 MiB", or a number of bytes, to bytes.

    kB, MB, GB, … are powers of 1000; KiB, MiB, GiB, … are powers of 1024. Case does not matter. ``name`` is the name
    of the parameter in error messages.

    Examples
    --------
    >>> parse_bytes("memory_limit", "1.5 GB"), parse_bytes("memory_limit", "2GiB")
    (1500000000, 2147483648)
    """
    match = None if isinstance(size, bool) else _SIZE.fullmatch(str(size))
    found = 0.0
    if match is not None:
        step = _BINARY_STEP if match[3] else _STEP
        found = float(match[1]) * step ** _PREFIXES.index((match[2] or " ").lower())
    if not 0 < found < math.inf:
        raise ParameterError(f"{name} must be a size such as '2GB' or '2GiB', or a number of bytes; got {size!r}")
    return int(found)


@dataclass(frozen=True)
class MemoryBudget:
    """Memory that may still be allocated.

    Attributes
    ----------
    size : int or None
        Bytes that may still be allocated; None if unknown.
    held : int
        Bytes that this process already holds.
    limit : int or None
        Upper bound on the bytes held by this process, if one was set.
    """

    size: int | None
    held: int
    limit: int | None

    @classmethod
    def within(cls, limit: Any = None) -> "MemoryBudget":
        """Return the budget of this process under ``limit``; by default, 80 % of the available memory."""
        available, held = available_memory(), resident_memory()
        if limit is None:
            return cls(None if available is None else int(_SHARE * available), held, None)
        bound = parse_bytes("memory_limit", limit)
        left = int(_MARGIN * max(bound - held, 0))
        return cls(left if available is None else min(left, available), held, bound)

    def fits(self, needed: float) -> bool:
        """Return whether ``needed`` bytes may be allocated."""
        return self.size is None or needed <= self.size

    def check(self, needed: float, purpose: str, remedy: str) -> None:
        """Raise MemoryLimitError unless ``needed`` bytes fit; the message contains ``purpose`` and ``remedy``."""
        if self.fits(needed):
            return
        size = format_bytes(self.size or 0)
        if self.limit is None:
            budget = f"{size} ({_SHARE:.0%} of the available memory) may be used."
        else:
            sufficient = sufficient_limit(self.held, needed)
            budget = (
                f"the limit of {format_bytes(self.limit)} leaves {size}, because {format_bytes(self.held)} are "
                f"already in use. The smallest sufficient memory_limit is '{sufficient}'."
            )
        raise MemoryLimitError(f"{purpose} would need about {format_bytes(needed)} of memory; {budget} {remedy}")


def check_memory(needed: float, purpose: str, remedy: str) -> None:
    """Raise MemoryLimitError unless ``needed`` bytes are available; the message contains ``purpose`` and ``remedy``."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryLimitError(
            f"{purpose} would need about {format_bytes(needed)} of memory; {format_bytes(available)} is free. {remedy}"
        )


def sufficient_limit(held: int, needed: float) -> str:
    """Return the smallest memory limit, rounded up, under which a process that holds some bytes may allocate others.

    Examples
    --------
    >>> sufficient_limit(held=220_000_000, needed=9_800_000)
    '231MB'
    """
    megabytes = -(-int(held + needed / _MARGIN) // _STEP**2)
    return f"{megabytes}MB" if megabytes < 10 * _STEP else f"{-(-megabytes // 100) / 10:g}GB"


def _meminfo_available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    value = fields.get("MemAvailable")
    return int(value.split()[0]) * 1024 if value else None


def _cgroup_available() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used, 0)
