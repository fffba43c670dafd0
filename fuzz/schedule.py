"""Which cases are executed next."""

import threading
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

BATCH_SECONDS = 1.0
MAX_BATCH = 200


class Batch(NamedTuple):
    """Consecutive cases of one target, ``first … stop - 1``."""

    target: str
    first: int
    stop: int


class Schedule(Protocol):
    """Hands out batches; called by several threads."""

    def next(self) -> Batch | None:
        """Return the next batch, or None at the end."""

    def spent(self, target: str, seconds: float) -> None:
        """Record the time that a case took."""


class Listed:
    """The given batches, once."""

    def __init__(self, batches: list[Batch]) -> None:
        self._batches = iter(batches)
        self._lock = threading.Lock()

    def next(self) -> Batch | None:
        """Return the next batch, or None at the end."""
        with self._lock:
            return next(self._batches, None)

    def spent(self, target: str, seconds: float) -> None:
        """Ignore the time."""


class TimeShared:
    """Batches until the time is over; each target gets its share of the time, whatever a case of it takes."""

    def __init__(self, shares: Mapping[str, float], seconds: float) -> None:
        self._shares = shares
        self._deadline = time.monotonic() + seconds
        self._seconds = dict.fromkeys(shares, 0.0)
        self._handed_out = dict.fromkeys(shares, 0)
        self._executed = dict.fromkeys(shares, 0)
        self._lock = threading.Lock()

    def next(self) -> Batch | None:
        """Return the next batch, or None at the end."""
        if time.monotonic() >= self._deadline:
            return None
        with self._lock:
            name = min(self._shares, key=self._planned_share)
            first = self._handed_out[name]
            count = min(max(int(BATCH_SECONDS / self._mean(name)), 1), MAX_BATCH)
            self._handed_out[name] += count
            return Batch(name, first, first + count)

    def spent(self, target: str, seconds: float) -> None:
        """Record the time that a case took."""
        with self._lock:
            self._seconds[target] += seconds
            self._executed[target] += 1

    def _mean(self, name: str) -> float:
        """Return the mean time of a case, starting from a guess of a quarter of a second."""
        return (self._seconds[name] + 0.25) / (self._executed[name] + 1)

    def _planned_share(self, name: str) -> float:
        running = self._handed_out[name] - self._executed[name]
        return (self._seconds[name] + running * self._mean(name)) / self._shares[name]
