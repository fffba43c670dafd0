"""Signals while processes are started and ended."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Handle signals after the body: an exception while processes start or end would leave processes behind."""
    if threading.current_thread() is not threading.main_thread():  # only it may set signal handlers
        yield
        return
    arrived: set[int] = set()
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    raising = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    for number in raising:
        signal.signal(number, lambda found, _: arrived.add(found))
    try:
        yield
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


@contextmanager
def interrupts_blocked_in_children() -> Iterator[None]:
    """Let new processes ignore Ctrl-C, which a terminal sends to them too: this process ends them.

    They inherit the mask of the thread that starts them, which inherits that of this thread; so do processes that
    replace lost workers later.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # a process of multiprocessing; starting it later would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
