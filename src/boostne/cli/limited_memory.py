"""Start of the program under a limited address space (``ulimit -v``).

OpenBLAS ends the process if it cannot allocate a buffer or start a thread, so do OpenMP and Arrow, and modules of which
only a part could be loaded crash at exit. Therefore the program does not start unless all of them fit, the number of
their threads is reduced, and both BLAS libraries allocate their buffers before anything else does.
"""

import ctypes
import os
from contextlib import suppress
from importlib import import_module

from boostne.address_space import address_space_left, address_space_limit
from boostne.errors import MemoryLimitError
from boostne.memory import format_bytes

AMPLE_BYTES = 16_000_000_000  # from this limit on, the libraries are left as they are
BYTES_PER_THREAD = 1_000_000_000  # a thread takes less than 100 MB in all libraries: most is left to the program
IMPORT_BYTES = 600_000_000  # NumPy, SciPy, scikit-learn, pandas and Arrow take 540 MB with one thread each
PRODUCT_SIZE = 128  # products of smaller matrices need no buffer
M_ARENA_MAX = -8  # parameter of mallopt(): number of heaps, for each of which glibc reserves 64 MB

# How the dynamic linker and the interpreter say that memory is missing, other than by a MemoryError.
SYMPTOMS = ("failed to map segment", "cannot allocate memory", "can't start new thread")


def load_blas() -> None:
    """Load the BLAS libraries if the address space is limited.

    Raises MemoryError if it is too small for all libraries.
    """
    limit = address_space_limit()
    if limit is None or limit >= AMPLE_BYTES:
        return
    left = address_space_left()
    if left is not None and left < IMPORT_BYTES:
        raise MemoryError(
            f"boostne and the libraries it uses need at least {format_bytes(limit - left + IMPORT_BYTES)}"
        )
    _restrain_libraries(max(1, limit // BYTES_PER_THREAD))
    numpy = import_module("numpy")
    ones = numpy.ones((PRODUCT_SIZE, PRODUCT_SIZE))
    ones @ ones
    import_module("scipy.linalg.blas").dgemm(1.0, ones, ones)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error, or one that caused it, is due to missing memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        if isinstance(cause, (ImportError, OSError, RuntimeError)) and any(s in str(cause).lower() for s in SYMPTOMS):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def out_of_memory_message(error: BaseException) -> str:
    """Return one line on an error due to missing memory."""
    if isinstance(error, MemoryLimitError):
        return str(error)
    reason = str(error) if isinstance(error, MemoryError) and str(error) else "not enough memory"
    limit = address_space_limit()
    if limit is None:
        return f"{reason}; 'boostne estimate' shows how much is needed"
    return f"{reason}; the address space is limited to {format_bytes(limit)}: raise the limit (ulimit -v)"


def _restrain_libraries(threads: int) -> None:
    """Let libraries that are not loaded yet start fewer threads and reserve less memory."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # Arrow's own allocator reserves 134 MB
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "ARROW_IO_THREADS"):
        value = os.environ.get(variable, "")
        os.environ[variable] = str(min(int(value), threads) if value.isdigit() else threads)
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
