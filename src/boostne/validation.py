"""Checks of an estimator's parameters; every message names the parameter, its range and the value found."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from boostne.errors import ParameterError


def check_integer(name: str, value: Any, minimum: int) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    if not _is(value, Integral) or value < minimum:
        raise ParameterError(f"{name} must be an integer of at least {minimum}; got {value!r}")
    return int(value)


def check_number(name: str, value: Any, minimum: float, *, strict: bool = False) -> float:
    """Return ``value`` as a finite float that is at least (``strict``: above) ``minimum``."""
    fine = _is(value, Real) and np.isfinite(float(value))
    if not fine or value < minimum or (strict and value == minimum):
        bound = "above" if strict else "at least"
        raise ParameterError(f"{name} must be a number {bound} {minimum:g}; got {value!r}")
    return float(value)


def check_dtype(name: str, value: Any) -> np.dtype[Any]:
    """Return ``value`` as one of the two floating dtypes that the kernels know."""
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        if value == dtype:
            return dtype
    raise ParameterError(f"{name} must be float32 or float64; got {value!r}")


def seed_from(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` (None, an int or a generator) into one integer seed."""
    if _is(random_state, Integral):
        return check_integer("random_state", random_state, 0)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def _is(value: Any, kind: type) -> bool:
    # True and False are integers to Python, but never what was meant here.
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)
