"""The limit on the address space of this process (``ulimit -v``), and how many threads fit into it."""

import os
from pathlib import Path

# Address space that a thread may take: its stack (8 MB), its heap (glibc reserves 64 MB) and a BLAS buffer (32 MB).
BYTES_PER_THREAD = 128_000_000


def address_space_limit() -> int | None:
    """Return the maximum size of this process's address space in bytes; None if it is unlimited or unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def address_space_left() -> int | None:
    """Return the bytes by which the address space can still grow; None if it is unlimited or unknown."""
    limit = address_space_limit()
    if limit is None:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)


def affordable_threads(threads: int) -> int:
    """Return ``threads``, or as many as fit into a limited address space, but at least 1."""
    left = address_space_left()
    return threads if left is None else max(1, min(threads, left // BYTES_PER_THREAD))
