"""Finished levels as named arrays, in which a checkpoint stores them."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from boostne.errors import FileFormatError
from boostne.factorization.boosting import Level
from boostne.factorization.checkpoint_files import CHECKSUM_BYTES, Arrays, check_array
from boostne.factorization.factor_files import FACTORS, FactorParts

_LISTS = tuple(field.name for field in fields(FactorParts))
_HISTORY = {"objective": np.float64, "n_iter": np.int64, "residual_norm": np.float64, "nnz": np.int64}

# In the order in which they are stored.
NAMES = (*FACTORS, *_HISTORY)
NAMES_IN_PARTS = (*_HISTORY, *(f"{factor}_{name}" for factor in FACTORS for name in _LISTS))


def level_arrays(level: Level) -> Arrays:
    """Return a level as it is stored: its history with its factors, or with the lists of their files."""
    values = dict(vars(level))
    for factor in FACTORS:
        if isinstance(values[factor], FactorParts):
            values |= {f"{factor}_{name}": array for name, array in vars(values.pop(factor)).items()}
    return {name: np.asarray(value, _HISTORY.get(name)) for name, value in values.items()}


def as_level(
    path: Path, arrays: Arrays, factors: tuple[tuple[int, int], tuple[int, int]], dtype: np.dtype[Any]
) -> Level:
    """Return a level that was stored with its factors, of these shapes; raise FileFormatError if it is invalid."""
    for name, shape in zip(FACTORS, factors, strict=True):
        check_array(path, name, arrays[name], shape, dtype)
    return Level(arrays["U"], arrays["V"], **_as_history(path, arrays))


def as_level_in_parts(path: Path, arrays: Arrays, n_rows: int) -> Level:
    """Return a level whose factors, each with ``n_rows`` rows, are in files; raise FileFormatError if it is invalid."""
    history = _as_history(path, arrays)
    U, V = (FactorParts(*(arrays[f"{factor}_{name}"] for name in _LISTS)) for factor in FACTORS)
    for factor, parts in zip(FACTORS, (U, V), strict=True):
        n_files = parts.cuts.size - 1
        check_array(path, f"{factor}_cuts", parts.cuts, (n_files + 1,), np.dtype(np.int64))
        check_array(path, f"{factor}_checksums", parts.checksums, (n_files, CHECKSUM_BYTES), np.dtype(np.uint8))
        last = n_rows if history["n_iter"] else 0
        if parts.cuts[0] != 0 or parts.cuts[-1] != last or (np.diff(parts.cuts) <= 0).any():
            raise FileFormatError(f"{path}: {factor}_cuts must increase from 0 to {last}")
    return Level(U, V, **history)


def _as_history(path: Path, arrays: Arrays) -> dict[str, Any]:
    for name, dtype in _HISTORY.items():
        shape = (arrays[name].size,) if name == "objective" else ()
        check_array(path, name, arrays[name], shape, np.dtype(dtype))
    return {name: arrays[name] if name == "objective" else arrays[name].item() for name in _HISTORY}
