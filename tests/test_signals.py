"""Signals that arrive at any moment of the program: one line, the right exit code, no traceback."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

PROLOGUE = """
import atexit, gc, os, signal, sys, threading
from boostne.cli import signals

def send(number=signal.SIGINT, times=1):
    for _ in range(times):
        os.kill(os.getpid(), number)
        sum(range(100))  # Python handles signals between instructions

"""
WAIT = "threading.Event().wait(60)"  # the signal ends it
RAISED = """
with signals.ending_on_signals():
    send(signal.{})
"""
CLEAN_UP = """
with signals.ending_on_signals():
    try:
        send()
    finally:
        send(times=10)
        print("cleaned up")
"""
# Initialization of an extension module reports exceptions by itself, as this function does.
EXTENSION = f"""
class ExtensionFileLoader:
    def exec_module(self):
        try:
            send(times=10)
        except KeyboardInterrupt:
            raise ImportError
        print("imported")

with signals.ending_on_signals():
    ExtensionFileLoader().exec_module()
    {WAIT}
"""
IMPORT = """
with signals.ending_on_signals():
    import interrupted_module
"""
# The signal is sent again once the line is printed, however long that takes on a busy machine.
DESTRUCTOR = f"""
printed, kill = threading.Event(), os.kill
os.kill = lambda *signal_: printed.wait(60) and kill(*signal_)

class Interrupted:
    def __del__(self):
        kill(os.getpid(), signal.SIGINT)
        sum(range(100))

with signals.ending_on_signals():
    Interrupted()
    print("ignored")
    printed.set()
    {WAIT}
"""
SHUTDOWN = """
atexit.register(lambda: [send(times=10), print("shut down")])
with signals.ending_on_signals():
    sys.exit(5)
"""
NOT_CLEANED_UP = CLEAN_UP.replace("try:", "signals.PATIENCE_SECONDS = 0\n    try:")
NOHUP = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with signals.ending_on_signals():
    send(signal.SIGHUP)
    print("went on")
"""
INTERRUPTED, TERMINATED = "boostne: interrupted\n", "boostne: terminated\n"
CASES = {
    "SIGINT": (RAISED.format("SIGINT"), 130, "", INTERRUPTED),
    "SIGTERM": (RAISED.format("SIGTERM"), 143, "", TERMINATED),
    "SIGHUP": (RAISED.format("SIGHUP"), 129, "", TERMINATED),
    "clean-up": (CLEAN_UP, 130, "cleaned up\n", INTERRUPTED),
    "import": (IMPORT, 130, "", INTERRUPTED),
    "extension": (EXTENSION, 130, "imported\n", INTERRUPTED),
    "destructor": (DESTRUCTOR, 130, "ignored\n", INTERRUPTED),
    "shutdown": (SHUTDOWN, 5, "shut down\n", ""),
    "endless clean-up": (NOT_CLEANED_UP, 130, "", ""),
    "nohup": (NOHUP, 0, "went on\n", ""),
}


@pytest.mark.parametrize(("code", "status", "output", "error"), CASES.values(), ids=CASES)
def test_signals(tmp_path, code, status, output, error):
    (tmp_path / "interrupted_module.py").write_text(f"{PROLOGUE}send(times=10)")
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + code], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == (output, error, status)


def test_interrupt_while_the_program_is_imported(tmp_path):
    # Imported by the program instead of the module in the standard library.
    (tmp_path / "difflib.py").write_text(f"{PROLOGUE}send(times=10)")
    done = subprocess.run(
        [sys.executable, "-m", "boostne", "methods"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 130
    assert done.stderr == "boostne: interrupted\n"
