"""How much memory there is, asked before it is spent."""

import os
from pathlib import Path

from boostne.errors import MemoryLimitError

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_STEP = 1000  # from one unit to the next
_SMALL = 10  # below this a decimal is worth showing


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


def check_memory(needed: float, purpose: str, remedy: str) -> None:
    """Raise unless ``needed`` bytes are free; ``purpose`` and ``remedy`` go into the message."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryLimitError(
            f"{purpose} would need about {format_bytes(needed)} of memory; {format_bytes(available)} is free. {remedy}"
        )


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
