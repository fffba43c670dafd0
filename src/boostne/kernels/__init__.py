"""Hot loops: compiled kernels and readable NumPy implementations of the same interface.

:func:`get_kernels` returns the fastest kernels of this installation and machine. The environment variable
``BOOSTNE_KERNELS`` (``reference``, ``baseline``, ``avx2`` or ``avx512``) overrides the choice.
"""

import os

from boostne.address_space import affordable_threads
from boostne.errors import ParameterError, PerformanceWarning, warn_caller
from boostne.kernels.contract import Kernels
from boostne.validation import check_integer

__all__ = ["KERNELS", "Kernels", "available_threads", "check_threads", "get_kernels", "instruction_set"]

# A CPU that executes one of them also executes those before it.
KERNELS = ("reference", "baseline", "avx2", "avx512")


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Return the number of threads to start; None means all cores."""
    return affordable_threads(available_threads() if threads is None else check_integer("threads", threads, 1))


def get_kernels(name: str | None = None, threads: int | None = None) -> Kernels:
    """Return the kernels called ``name``, or the fastest ones available.

    Parameters
    ----------
    name : {"reference", "baseline", "avx2", "avx512"}, optional
        Defaults to the value of ``BOOSTNE_KERNELS``, or else to the widest instruction set of this machine.
    threads : int, optional
        Number of threads; defaults to all cores that this process may use. Fewer are started if the address space is
        limited. Results do not depend on it.
    """
    from boostne.kernels.native import bindings, library
    from boostne.kernels.reference import ReferenceKernels

    name = name or os.environ.get("BOOSTNE_KERNELS") or None
    if name is not None and name not in KERNELS:
        raise ParameterError(f"kernels must be one of {', '.join(KERNELS)}; got {name!r}")
    if name == "reference":
        return ReferenceKernels()
    path = library.find_library(list(__path__))
    if path is None:
        if name is not None:
            raise ParameterError(f"kernels {name!r} require the compiled library, which this installation lacks")
        warn_caller(
            "boostne was installed without its compiled kernels and falls back to NumPy: results are the same up to "
            "rounding, but 5 to 20 times slower, and much slower for LINE, DeepWalk and Node2Vec. To fix this, "
            "reinstall boostne on a machine with a C++ compiler.",
            PerformanceWarning,
        )
        return ReferenceKernels()
    return bindings.NativeKernels(path, name, affordable_threads(available_threads() if threads is None else threads))


def instruction_set() -> str:
    """Return the instruction set in use: ``"avx512"``, ``"avx2"``, ``"baseline"`` or ``"reference"``."""
    return get_kernels().instruction_set
