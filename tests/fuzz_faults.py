"""Targets with planted faults, to test that the fuzzer finds them."""

import os
import signal
import threading
from pathlib import Path

from fuzz.case import OK, attempt, require

from boostne.errors import FileFormatError


def crash(case):
    case.announce("crash()")
    (case.folder / "input").write_text("hostile")
    if case.rng.random() < 0.5:
        os.kill(os.getpid(), signal.SIGSEGV)
    return OK


def hang(case):
    case.announce("hang()")
    if case.rng.random() < 0.5:
        threading.Event().wait()
    return OK


def slow_at_first(case):
    case.announce("slow_at_first()")
    marker = Path(os.environ["SLOW_CASE_MARKER"])
    if not marker.exists():
        marker.touch()
        threading.Event().wait()
    return OK


def undocumented_exception(case):
    case.announce("undocumented()")
    (case.folder / "input").write_text("hostile")
    attempt(lambda: {}["missing"])


def wrong_result(case):
    require(case.rng is None, "not the content of the file")


def long_message(case):
    def read():
        raise FileFormatError("input: first\nsecond")

    attempt(read, case.folder / "input")


def unnamed_file(case):
    def read():
        raise FileFormatError("damaged")

    attempt(read, case.folder / "input")


def large_allocation(case):
    bytearray(1 << 36)


def documented(case):
    def read():
        raise FileFormatError(f"{case.folder / 'input'}: damaged")

    return attempt(read, case.folder / "input")[1]
