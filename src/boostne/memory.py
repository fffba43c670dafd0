"""How much memory there is, asked before it is spent."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostne.errors import MemoryLimitError, ParameterError

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_STEP = 1000  # from one unit to the next
_SMALL = 10  # below this a decimal is worth showing
_SHARE = 0.8  # of what is free, where no limit is given: others are on this machine too
_CAUTION = 0.95  # of what a limit leaves: what a fit will take is known before it only roughly


def available_memory() -> int | None:
    """Bytes that this process can still take, a container's limit included; None where nobody says."""
    candidates = [_meminfo_available(), _cgroup_available()]
    known = [value for value in candidates if value is not None]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def format_bytes(size: float) -> str:
    """Return a size as people write it.

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
    """Return a size in bytes: a number, or a text such as "2GB" or "750 MB".

    >>> parse_bytes("memory_limit", "1.5 GB")
    1500000000
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*([kMGTPE]?)i?B?\s*", str(size), re.IGNORECASE)
    if match is None or isinstance(size, bool) or float(match[1]) <= 0:
        raise ParameterError(f"{name} must be a size such as '2GB', or a number of bytes; got {size!r}")
    unit = f"{match[2].upper().replace('K', 'k')}B"
    return int(float(match[1]) * _STEP ** _UNITS.index(unit))


@dataclass(frozen=True)
class Room:
    """Memory that may still be taken.

    Attributes
    ----------
    size : int or None
        Bytes; None where nobody says how much there is.
    held : int
        Bytes that this process holds already.
    limit : int or None
        The most that it may ever hold, where one was set.
    """

    size: int | None
    held: int
    limit: int | None

    def fits(self, needed: float) -> bool:
        """Whether so many bytes may be taken."""
        return self.size is None or needed <= self.size

    def check(self, needed: float, purpose: str, remedy: str) -> None:
        """Raise unless so many bytes may be taken; ``purpose`` and ``remedy`` go into the message."""
        if self.fits(needed):
            return
        size = format_bytes(self.size or 0)
        if self.limit is None:
            there = f"{size}, {_SHARE:.0%} of what is free, may be taken"
            smallest = ""
        else:
            there = f"the limit of {format_bytes(self.limit)} leaves {size}, since {format_bytes(self.held)} are held"
            smallest = (
                f" The smallest memory_limit that would do is '{_rounded_up(self.held + needed / _CAUTION)}'."
            )
        raise MemoryLimitError(
            f"{purpose} would need about {format_bytes(needed)} of memory; {there}.{smallest} {remedy}"
        )


def room_within(limit: Any = None) -> Room:
    """Return what this process may still take: up to ``limit``, or else 80 % of what is free."""
    available, held = available_memory(), resident_memory()
    if limit is None:
        return Room(None if available is None else int(_SHARE * available), held, None)
    most = parse_bytes("memory_limit", limit)
    left = int(_CAUTION * max(most - held, 0))
    return Room(left if available is None else min(left, available), held, most)


def resident_memory() -> int:
    """Bytes that this process holds in memory; 0 where nobody says."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def check_memory(needed: float, purpose: str, remedy: str) -> None:
    """Raise unless ``needed`` bytes are free; ``purpose`` and ``remedy`` go into the message."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryLimitError(
            f"{purpose} would need about {format_bytes(needed)} of memory; {format_bytes(available)} is free. {remedy}"
        )


def _rounded_up(size: float) -> str:
    megabytes = -(-int(size) // _STEP**2)
    return f"{megabytes}MB" if megabytes < _STEP else f"{-(-megabytes // 100) / 10:g}GB"


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
