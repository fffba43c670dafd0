"""The compiled library and the signatures of its C functions."""

import ctypes
from functools import cache
from pathlib import Path

LIBRARY_NAMES = ("boostne_kernels.so", "boostne_kernels.dylib", "boostne_kernels.dll")

TYPES = {
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "p": ctypes.c_void_p,
}

# Argument types, as keys of TYPES; spaces separate groups. "common" is the instruction set and the number of threads.
COMMON = "ii"
ROWS = "l pppp"  # shards, cuts, indptr, indices, data
COLUMN_BLOCKED = "l pp li ppp"  # shards, blocks, rows, strips, bits, starts, packed indices, data
SWEEP = "ll id ppppp lp"  # columns, width, inner, dead, V, V^T V, U, partial sums, grams, buffers, scratch
WALK_OUTPUT = "pppp"  # scratch, indices, values, counts
SKIPGRAM = "l ppppp il pp ff u"  # noise, negative, width, U, V, rates, seed
TYPED = {  # exported with the suffixes f32 and f64
    "stripe": "l p li pppp",
    "sweep": f"l {ROWS} {SWEEP}",
    "sweep_column_blocked": f"l {COLUMN_BLOCKED} {SWEEP}",
    "hals": "lll id ppppp",
    "extrapolate": "lll d ppp",
    "deflate": f"{ROWS} l ppp",
    "deflate_column_blocked": f"{COLUMN_BLOCKED} l ppp",
    "walk_columns": f"lll ppppp i {WALK_OUTPUT}",
    "step_rows": f"lll pppppp i {WALK_OUTPUT}",
    "push_rows": "lll ppppp dd il pppp",
    "product": f"{ROWS} ll pppp",
}
SIGNATURES = {
    "best_isa": "",
    "random_walks": "i ll pppp dd uu p",
    "communities": "l ppp lil p",
    "train_walks_f32": f"{COMMON} {SKIPGRAM} p lll",
    "train_edges_f32": f"{COMMON} {SKIPGRAM} pppp ll",
    **{f"{name}_{suffix}": f"{COMMON} {types}" for name, types in TYPED.items() for suffix in ("f32", "f64")},
}


def find_library(folders: list[str]) -> Path | None:
    """Return the path of the compiled library in one of the package's folders, or None if it was not built."""
    candidates = (Path(folder) / name for folder in folders for name in LIBRARY_NAMES)
    return next((path for path in candidates if path.is_file()), None)


@cache
def load_library(path: Path) -> ctypes.CDLL:
    """Load the library and declare the signatures of its functions."""
    library = ctypes.CDLL(str(path))
    for name, types in SIGNATURES.items():
        function = getattr(library, f"boostne_{name}")
        function.argtypes = [TYPES[code] for code in types.replace(" ", "")]
        function.restype = ctypes.c_int if name == "best_isa" else None
    return library
