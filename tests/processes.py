"""Python processes for tests that die with the test run, even if that is killed by a signal.

A process started here has a pipe from its parent as standard input and exits when the pipe closes, which the operating
system does for a parent that was killed, on every platform.
"""

import os
import runpy
import subprocess
import sys
import threading
import time
from pathlib import Path


def start_python(*arguments, **options):
    """Start ``python -m module …`` or ``python -c code …``; options are those of Popen."""
    command = [sys.executable, str(Path(__file__).resolve()), *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, **options)
    process.parent_pipe, process.stdin = process.stdin, None  # communicate() would close it
    return process


def wait_until(condition, process=None, seconds=300):
    """Wait until a condition holds; fail after some time, or if the process that is to bring it about has ended."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, f"the process ended with {process.returncode}"
        assert time.monotonic() < deadline, f"not true after {seconds} s"
        time.sleep(0.002)


def without_reading_notes(stderr):
    """Return what the program wrote to stderr, without the lines on how files were read."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("boostne: read: "))


def _exit_with_parent(pipe):
    # Not through sys.stdin, whose lock a daemon thread would still hold when the interpreter shuts down.
    while os.read(pipe, 1024):
        pass
    os._exit(1)


def _main():
    # A copy, because pytest replaces descriptor 0, and a read that the system restarts, as after SIGCONT, would see the
    # end of the replacement.
    threading.Thread(target=_exit_with_parent, args=(os.dup(0),), daemon=True).start()
    _, kind, what, *arguments = sys.argv
    sys.path[0] = ""  # as for python itself, rather than the folder of this file
    sys.argv = [what, *arguments]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    _main()
