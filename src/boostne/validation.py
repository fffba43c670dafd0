"""Parameter validation; each error names the parameter, the values it accepts and the value it got."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from boostne.errors import ParameterError

_LARGEST_COUNT = 2**31 - 1  # of anything; products of two counts fit into 64 bits


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    accepted = tuple(choices)
    if value not in accepted:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, accepted))}, got {value!r}")


def check_integer(name: str, value: Any, minimum: int, maximum: int | None = _LARGEST_COUNT) -> int:
    """Return ``value`` as an int; raise unless it is an integer from ``minimum`` to ``maximum`` (None: any size)."""
    if not _is_instance(value, Integral) or value < minimum:
        raise ParameterError(f"{name} must be an integer of at least {minimum}; got {value!r}")
    if maximum is not None and value > maximum:
        raise ParameterError(f"{name} must be an integer of at most {maximum:,}; got {value!r}")
    return int(value)


def check_number(name: str, value: Any, minimum: float, *, strict: bool = False) -> float:
    """Return ``value`` as a float; raise unless it is finite and at least (``strict``: above) ``minimum``."""
    finite = _is_instance(value, Real) and np.isfinite(float(value))
    if not finite or value < minimum or (strict and value == minimum):
        bound = "above" if strict else "at least"
        raise ParameterError(f"{name} must be a number {bound} {minimum:g}; got {value!r}")
    return float(value)


def check_dtype(name: str, value: Any) -> np.dtype[Any]:
    """Return ``value`` as a dtype; raise unless it is float32 or float64, which the kernels support."""
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        if value == dtype:
            return dtype
    raise ParameterError(f"{name} must be float32 or float64; got {value!r}")


def seed_from(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` (None, an int or a generator) into an integer seed."""
    if _is_instance(random_state, Integral):
        return check_integer("random_state", random_state, 0, maximum=None)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def _is_instance(value: Any, kind: type) -> bool:
    # bool is a subclass of int, but True is never a meaningful number here.
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)
