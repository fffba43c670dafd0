"""Random command lines: in this process, and now and then in a process of their own."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from random import Random
from typing import Any

import click

from boostne.cli.program import program, run
from fuzz.case import OK, Case, require
from fuzz.mutations import mutate
from fuzz.targets.models import saved_model

_CODES = (0, 1, 2, 3)
# Not "-", which would wait for the standard input.
_TEXTS = ("", "x", "0", "-1", "1e999", "nan", "é", "\udcff", "a\nb", "--", "/", ".", "%s", "[red]", "=1", "9" * 30)
_NUMBERS = ("0", "1", "2", "3", "4", "-1", "0.5", "1e-3", "1e999", "nan", "inf", "x", "", "1e400")
_HUGE = ("1000000000", "1000000000000000000", "99999999999999999999999")
_SIZES = ("1B", "1MB", "500MB", "2GB", "1EB", "0", "-1", "x", "1e30", "2 GiB")
# These take the time that they ask for.
_SLOW = (
    "--max-iter",
    "--walks",
    "--length",
    "--epochs",
    "--window",
    "--steps",
    "--repeats",
    "--starts",
    "--mean-degree",
)
# Nothing that starts other processes, imports PyTorch or uses a network.
_EXCLUDED = ("--workers", "--scheduler", "--engine", "--debug")
_FILES = {
    "graph.csv": b"source,target\n0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n0,2\n1,3\n",
    "weighted.txt": b"a b 0.5\nb c 2\nc d 1\nd a 3\na c 1\nx x 1\n",
    "directed.mtx": b"%%MatrixMarket matrix coordinate real general\n4 4 4\n1 2 1\n2 3 2\n3 4 1\n4 1 1\n",
    "labels.txt": b"0 a\n1 a\n2 b\n3 b\n4 a\n5 b\n",
    "vectors.csv": b"node,u1_1,u1_2\n0,1,2\n1,2,1\n2,0,1\n3,4,4\n4,1,3\n5,2,2\n",
    "vectors.emb": b"6 2\n0 1 2\n1 2 1\n2 0 1\n3 4 4\n4 1 3\n5 2 2\n",
    "empty": b"",
}
_MISSING = "missing.csv"
_MESSAGE = re.compile(r"boostne: (error|interrupted)")
_NOTE = re.compile(r"boostne: (note|read|setting|warning): ")


def in_process(case: Case) -> str:
    """Call the program with captured streams."""
    arguments = _prepare(case)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    with contextlib.chdir(case.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    for stream in (out, err):
        stream.flush()
    return _check(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode(), arguments)


def subprocesses(case: Case) -> str:
    """Start the program as a user does."""
    arguments = [argument.replace("\0", "") for argument in _prepare(case)]
    command = [sys.executable, "-m", "boostne", *(os.fsencode(argument) for argument in arguments)]
    closed = case.rng.choice(("", "", "", ">&-", "2>&-", "</dev/null >/dev/full"))
    if closed and os.name == "posix":
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
        case.announce(case.call + f" {closed}")
    done = subprocess.run(command, cwd=case.folder, capture_output=True, check=False)
    out, err = done.stdout.decode(), done.stderr.decode(errors="replace")
    require("Traceback" not in err, f"a traceback: {err[-300:]}")
    if closed:
        require(done.returncode in _CODES, f"exit code {done.returncode}: {_shorten(err)}")
        return f"exit {done.returncode}" if done.returncode else OK
    return _check(done.returncode, out, err, arguments)


def _check(code: Any, out: str, err: str, arguments: list[str]) -> str:
    """Check the exit code and the output, and return the outcome."""
    require(code in _CODES, f"exit code {code}: {_shorten(err)}")
    require("Traceback" not in err, f"a traceback: {err[-300:]}")
    message = _NOTE.split(err)[0] if not _MESSAGE.search(err) else err[_MESSAGE.search(err).start() :]
    if code == 0:
        require(not message.strip(), f"exit code 0 with a message: {message!r}")
        if "--json" in arguments and "--help" not in arguments:
            json.loads(out)
        return OK
    require(_MESSAGE.match(message), f"exit code {code} without a message: {err!r}")
    require(message.count("\n") <= 2, f"a message of more than two lines: {message!r}")
    return f"exit {code}"


def _shorten(err: str) -> str:
    """Keep the beginning, too: after a crash the end is a list of modules."""
    return err if len(err) <= 1200 else f"{err[:900]} … {err[-300:]}"


def _prepare(case: Case) -> list[str]:
    """Write files and return the arguments of a command."""
    rng = case.rng
    for name, data in {**_FILES, "model.npz": saved_model()}.items():
        (case.folder / name).write_bytes(mutate(rng, data) if rng.random() < 0.1 else data)
    arguments = _arguments(rng)
    case.announce(f"boostne {arguments}")
    return arguments


def _arguments(rng: Random) -> list[str]:
    if rng.random() < 0.05:
        return rng.choices((*_TEXTS, "--help", "--version", "methods", "datasets", "embed"), k=rng.randint(0, 3))
    name = rng.choice(("embed", "embed", "embed", "evaluate", "evaluate", "estimate", *program.commands))
    command = program.commands[name]
    if name in ("demo", "reproduce"):  # they take minutes: only with arguments that are refused
        return [name, rng.choice(("--help", "--unknown", "--seed=x", "-o", "-o/dev/null/x"))]
    arguments = [name]
    options = [option for option in command.params if isinstance(option, click.Option)]
    for option in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 3, 6)))):
        if option.opts[-1] not in _EXCLUDED and option.name != "page":
            arguments += _option(rng, option)
    arguments += _defaults(rng, name)
    if name == "explore":
        arguments += ["-o", "map.html"]  # else it would serve the map until Ctrl-C
    for argument in command.params:
        if isinstance(argument, click.Argument):
            arguments += _values(rng, argument.name)
    if rng.random() < 0.1:
        arguments.insert(rng.randint(1, len(arguments)), rng.choice(_TEXTS))
    return arguments


def _defaults(rng: Random, name: str) -> list[str]:
    """Return options without which a command would take long, or would mostly fail; usually."""
    if rng.random() < 0.05:
        return []
    small = ["--dimensions", "2"] if name in ("embed", "estimate", "links", "tune") else []
    files = ("out.npz", "out.csv", "out.emb", "out.parquet", "out.npy", "out.x", "empty/x.npz")
    output = {
        "embed": ["-o", rng.choice(files)],
        "propagate": ["-o", rng.choice(files)],
        "transform": ["-o", rng.choice(files)],
        "tune": ["-o", rng.choice(files), "--budget", rng.choice(("2", "3"))],
        "generate": ["--nodes", rng.choice(("0", "1", "10", "50", "1000000000000000"))],
        "evaluate": ["--repeats", "1"],
        "links": ["--repeats", "1"],
        "clusters": ["--repeats", "1"],
    }
    return small + output.get(name, [])


def _values(rng: Random, name: str) -> list[str]:
    files = {
        "graph": ("graph.csv", "weighted.txt", "directed.mtx", "karate"),
        "labels": ("labels.txt", "labels.txt", "karate"),
        "embedding": ("vectors.csv", "vectors.emb"),
        "embeddings": ("vectors.csv", "vectors.emb"),
        "vectors": ("vectors.csv", "vectors.emb"),
        "model": ("model.npz", "model.npz", "vectors.csv"),
        "edges": ("edges.csv", "edges.csv", "/dev/null/x"),
        "folder": (".", _MISSING, "graph.csv"),
        "nodes": ("0", "1", "a", "ann"),
    }
    choices = (*files[name] * 4, _MISSING, "empty", *rng.sample(_TEXTS, 1))
    return rng.choices(choices, k=rng.choice((1, 1, 1, 2)) if name in ("embeddings", "nodes") else 1)


def _option(rng: Random, option: click.Option) -> list[str]:
    flag = rng.choice((*option.opts, *option.secondary_opts))
    if option.is_flag:
        return [flag]
    kind = option.type
    choices = list(getattr(kind, "choices", ())) or list(getattr(kind, "registry", dict)())
    if choices:
        return [flag, rng.choice((*choices * 3, "x", ""))]
    if option.name == "memory_limit":
        return [flag, rng.choice(_SIZES)]
    if option.name.removeprefix("label_") in (
        "format",
        "method",
        "variable",
        "source",
        "target",
        "weight",
        "node",
        "label",
    ):
        return [flag, rng.choice(("csv", "edgelist", "mtx", "mat", "0", "1", "2", "source", "weight", *_TEXTS))]
    if option.name in ("checkpoint", "cache", "graph", "ids", "labels", "model", "output", "trials"):
        return [flag, rng.choice(("folder", "graph.csv", "labels.txt", "/dev/null/x", *_TEXTS))]
    pool = _NUMBERS if flag in _SLOW else (*_NUMBERS, *_HUGE)
    return [flag, rng.choice((*pool * 2, *_TEXTS))]
