"""The compiled library and the signatures of its C functions."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import EngineError

LIBRARY_NAMES = ("boostne_kernels.so", "boostne_kernels.dylib", "boostne_kernels.dll")

OK, OUT_OF_MEMORY = 0, 1  # Status in api.h


TYPES: dict[str, Any] = {
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
}
ARRAY_TYPES = {code: np.dtype(dtype) for code, dtype in zip("ILUFD", ("i4", "i8", "u4", "f4", "f8"), strict=True)}

# Argument types, as keys of TYPES and ARRAY_TYPES; spaces separate groups. COMMON is the instruction set and the number
# of threads.
COMMON = "ii"
ROWS = "l LLIT"  # shards, cuts, indptr, indices, data
COLUMN_BLOCKED = "l LL li LUT"  # shards, blocks, rows, strips, bits, starts, packed indices, data
SWEEP = "ll id TDTTD Tl"  # columns, width, inner, dead, V, V^T V, U, partial sums, grams, tiles, buffers
WALK_OUTPUT = "TITL"  # scratch, indices, values, counts
SKIPGRAM = "l ILUII il FF ff u"  # noise, negative, width, U, V, rates, seed
TYPED = {  # exported with the suffixes f32 and f64, for arrays T of float32 and float64
    "stripe": "l L li LUTL",
    "sweep": f"l {ROWS} {SWEEP} T",  # accumulators
    "sweep_column_blocked": f"l {COLUMN_BLOCKED} {SWEEP}",
    "solve_rows": f"{ROWS} ll id TDTT",
    "hals": "lLl id TDTDD",
    "extrapolate": "lLl d TTD",
    "deflate": f"{ROWS} l TTD",
    "deflate_column_blocked": f"{COLUMN_BLOCKED} l TTD",
    "walk_columns": f"lll LITT LIT TT i {WALK_OUTPUT}",
    "step_rows": f"lll LITTTT i {WALK_OUTPUT}",
    "push_rows": "lll LITTT i dd ill ITLD",
    "product": f"{ROWS} ll DDDD",
    "average": f"{ROWS} DDDD",
}
SIGNATURES = {
    "random_walks": "i ll LIDI dd uu I",
    "communities": "l LIF lil I",
    "train_walks_f32": f"{COMMON} {SKIPGRAM} I lll",
    "train_edges_f32": f"{COMMON} {SKIPGRAM} IIUI ll",
    **{
        f"{name}_{suffix}": f"{COMMON} {types}".replace("T", array)
        for name, types in TYPED.items()
        for suffix, array in (("f32", "F"), ("f64", "D"))
    },
}


def find_library(folders: list[str]) -> Path | None:
    """Return the path of the compiled library in one of the package's folders, or None if it was not built."""
    candidates = (Path(folder) / name for folder in folders for name in LIBRARY_NAMES)
    return next((path for path in candidates if path.is_file()), None)


class NativeFunction:
    """A C function whose array arguments are checked: C would read any other memory as their dtype.

    They are converted here, not by ctypes, which turns a KeyboardInterrupt during a conversion into an ArgumentError.
    """

    def __init__(self, function: Any, types: str) -> None:
        function.argtypes = [TYPES.get(code, ctypes.c_void_p) for code in types]
        function.restype = ctypes.c_int
        function.errcheck = raise_for_status
        self._function = function
        self._dtypes = [ARRAY_TYPES.get(code) for code in types]

    def __call__(self, *arguments: Any) -> None:
        """Call the function; None instead of an array is a null pointer."""
        pairs = zip(arguments, self._dtypes, strict=True)
        self._function(*[value if dtype is None else _address(value, dtype) for value, dtype in pairs])


def _address(array: NDArray[Any] | None, dtype: np.dtype[Any]) -> int | None:
    if array is None:
        return None
    if array.dtype != dtype or not array.flags.c_contiguous:
        found = "a C-contiguous" if array.flags.c_contiguous else "a non-contiguous"
        raise TypeError(f"kernels take a C-contiguous array of {dtype} here; got {found} array of {array.dtype}")
    return array.ctypes.data


@cache
def load_library(path: Path) -> ctypes.CDLL:
    """Load the library and declare the signatures of its functions."""
    library = ctypes.CDLL(str(path))
    library.boostne_best_isa.argtypes, library.boostne_best_isa.restype = [], ctypes.c_int
    for name, types in SIGNATURES.items():
        function = NativeFunction(getattr(library, f"boostne_{name}"), types.replace(" ", ""))
        setattr(library, f"boostne_{name}", function)
    return library


def raise_for_status(status: int, function: Any, _: Any) -> int:
    """Raise the exception for the status that a C function returned (``errcheck`` of ctypes)."""
    if status == OUT_OF_MEMORY:
        raise MemoryError(
            f"not enough memory in {function.__name__}: free some, raise the limit of the process, or use fewer threads"
        )
    if status != OK:
        raise EngineError(f"{function.__name__} failed with status {status}; please report this error")
    return status
