"""The command line program, mostly run in a separate process."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tests.processes import start_python, without_reading_notes

from boostne import BoostNE, DeepWalkMatrix, load_dataset, read_embedding
from boostne.cli import main
from boostne.cli.program import program, run
from boostne.errors import ParameterError
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.models import METHODS

EDGES = "0 1\n1 2\n2 0\n2 3\n3 4\n4 5\n5 3\n"
SMALL = ("--dimensions", "4", "--levels", "2")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and terminals")


# Absolute, because the program runs in another folder.
_PATHS = [str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(_PATHS), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "edges.txt").write_text(EDGES)
    return tmp_path


@pytest.fixture
def boostne(folder):
    """Run the program in a separate process."""

    def run_program(*arguments, code=0, python=()):
        command = [sys.executable, *python, "-m", "boostne", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, encoding="utf-8", timeout=120
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        done.stderr = without_reading_notes(done.stderr)
        return done

    return run_program


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    """Run the program in this process, which saves the imports."""
    monkeypatch.chdir(folder)

    def run_here(*arguments, code=0):
        found = run([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        assert found == code, error
        return subprocess.CompletedProcess(arguments, found, out, without_reading_notes(error))

    return run_here


def error_of(done):
    """Return the error message, which must be all of the output, except for the line that points to --help."""
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first.startswith("boostne: error: ")
    assert [line.startswith("Try: boostne") for line in rest] == [True] * (done.returncode == 2)
    return first


# ---- the program itself


def test_entry_point_is_the_same_program():
    found = [point for point in entry_points(group="console_scripts") if point.name == "boostne"]
    assert found[0].load() is main
    beside = shutil.which("boostne", path=str(Path(sys.executable).parent))
    assert beside is not None
    assert subprocess.run([beside, "--version"], check=False, capture_output=True, timeout=60).returncode == 0


def test_version(boostne):
    assert boostne("--version").stdout.startswith("boostne ")


def test_help_names_every_command_and_exit_code(boostne):
    text = boostne("--help").stdout
    for word in ("demo", "embed", "evaluate", "estimate", "methods", "datasets", "Exit codes", "130"):
        assert word in text
    assert boostne().stdout == text


def test_help_and_version_import_nothing_heavy(folder):
    script = (
        "import sys; from boostne.cli.program import run; codes = [run(['--version']), run(['--help'])];"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'matplotlib', 'rich'} & set(sys.modules);"
        "sys.exit(str(sorted(heavy)) if heavy or any(codes) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=ENVIRONMENT, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_docstrings_are_not_needed(boostne, inside, folder):
    for arguments in (["--help"], ["embed", "--help"]):
        assert boostne(*arguments, python=["-OO"]).stdout == inside(*arguments).stdout
    options = (*SMALL, "--window", 3)
    boostne("embed", "edges.txt", "-o", "optimized.csv", *options, python=["-OO"])
    inside("embed", "edges.txt", "-o", "plain.csv", *options)
    assert (folder / "optimized.csv").read_bytes() == (folder / "plain.csv").read_bytes()


@pytest.mark.parametrize("command", list(program.commands))
def test_help_of_a_command_has_examples_and_no_markup(inside, command):
    text = inside(command, "--help").stdout
    assert "Examples:" in text
    assert not re.search(r"`|:\w+:|\w_\b|\bNone\b|\bTrue\b|\bFalse\b|\(\)", text)
    assert max(map(len, text.splitlines())) <= 80


def test_options_reach_the_estimator(inside, folder):
    options = "--dimensions 6 --levels 3 --window 4 --negative 0.5 --tol 1e-3 --max-iter 7 --dtype float64 --seed 3"
    inside("embed", "karate", "-o", "a.npz", *options.split())
    model = BoostNE(
        6,
        levels=3,
        connectivity=DeepWalkMatrix(window=4, negative=0.5),
        tol=1e-3,
        max_iter=7,
        dtype="float64",
        random_state=3,
    )
    expected = model.fit(load_dataset("karate").graph).embedding_
    found = read_embedding(folder / "a.npz")
    assert np.array_equal(found.vectors, expected.vectors)
    assert found.vectors.dtype == np.float64


@pytest.mark.parametrize("typed", ["host:1", "tcp://host:1"])
def test_scheduler_is_passed_as_a_tcp_address(inside, monkeypatch, typed):
    passed = []

    def refuse(method, parameters, address):
        passed.append(address)
        raise ParameterError("seen")

    monkeypatch.setattr("boostne.cli.embed.make_estimator", refuse)
    inside("embed", "edges.txt", "-o", "x.npz", "--scheduler", typed, code=1)
    assert passed == ["tcp://host:1"]


def test_approximation_auto_is_exact_on_a_small_graph(inside, folder):
    for name, approximation in (("default", ()), ("exact", ("--approximation", "exact"))):
        inside("embed", "karate", "-o", f"{name}.npz", *SMALL, *approximation)
    spectral = ("--approximation", "spectral", "--eigenpairs", 8)
    inside("embed", "karate", "-o", "spectral.npz", *SMALL, *spectral)
    default, exact, spectral = (
        read_embedding(folder / f"{name}.npz").vectors for name in ("default", "exact", "spectral")
    )
    assert np.array_equal(default, exact)
    assert not np.array_equal(default, spectral)


# ---- embed


@pytest.mark.parametrize("suffix", ["npz", "npy", "parquet", "csv", "emb", "txt"])
def test_embed_writes_every_format(boostne, folder, suffix):
    done = boostne("embed", "edges.txt", "-o", f"out.{suffix}", *SMALL)
    found = read_embedding(folder / f"out.{suffix}")
    expected = BoostNE(4, levels=2).fit([(int(u), int(v)) for u, v in map(str.split, EDGES.splitlines())])
    assert found.nodes.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(found.vectors, expected.embedding_.vectors, rtol=1e-6)
    assert 2 <= len(done.stdout.splitlines()) <= 4
    assert "6 nodes, 7 edges" in done.stdout
    assert f"out.{suffix}" in done.stdout
    assert done.stderr.startswith("boostne: setting: ")
    assert done.stderr.count("\n") == 1


def test_output_bytes_do_not_depend_on_the_run_or_on_threads(boostne, folder):
    for name, threads in (("a", ()), ("b", ("--threads", 1)), ("c", ("--threads", 2))):
        boostne("embed", "digits", "-o", f"{name}.npz", "--dimensions", 16, "--levels", 2, *threads)
    assert len({(folder / f"{name}.npz").read_bytes() for name in "abc"}) == 1


def test_reader_options_reach_the_reader(inside, folder):
    (folder / "table.txt").write_text("w;from;to\n5;a;b\n1;b;c\n1;c;a\n")
    columns = ("--source", "from", "--target", 2, "--delimiter", ";", "--header")
    done = inside("embed", "table.txt", "-o", "x.csv", *SMALL, *columns, "--weight", "w", "--dimensions", 2)
    assert "3 nodes, 3 edges, weighted" in done.stdout
    done = inside("embed", "table.txt", "-o", "x.csv", *SMALL, *columns, "--no-weight", "--dimensions", 2)
    assert "unweighted" in done.stdout
    assert read_embedding(folder / "x.csv").nodes.tolist() == ["a", "b", "c"]


def test_a_file_takes_precedence_over_a_data_set(inside, folder):
    assert "34 nodes" in inside("embed", "karate", "-o", "x.csv", *SMALL).stdout
    (folder / "karate").write_text(EDGES)
    assert "6 nodes" in inside("embed", "karate", "-o", "x.csv", *SMALL).stdout


def test_data_sets_are_not_listed_for_an_existing_file(inside, monkeypatch):
    monkeypatch.setattr("boostne.datasets.list_datasets", lambda: pytest.fail("listed"))
    inside("embed", "edges.txt", "-o", "x.npz", *SMALL)


def test_notes_on_isolated_nodes_and_self_loops_are_one_line_each(boostne, folder):
    (folder / "list.adjlist").write_text("a a b c\nb c\nd\n")
    done = boostne("embed", "list.adjlist", "-o", "x.csv", *SMALL)
    _, isolated, dropped = sorted(done.stderr.splitlines())
    assert isolated == "boostne: warning: 1 of 4 nodes have no edges; their vectors are zero"
    assert dropped.startswith(
        "boostne: warning: list.adjlist: separated by spaces: a node and its neighbors per line; "
    )
    assert dropped.endswith("dropped 1 self-loop; --self-loops keep keeps them")


def test_quiet_prints_nothing(boostne, folder):
    (folder / "list.adjlist").write_text("a a b c\nb c\nd\n")
    done = boostne("embed", "list.adjlist", "-o", "x.npz", *SMALL, "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    assert (folder / "x.npz").exists()


def test_no_control_characters_without_a_terminal(boostne):
    for arguments in (["embed", "karate", "-o", "x.npz"], ["datasets"]):
        done = boostne(*arguments)
        assert not CONTROL.search(done.stdout + done.stderr)


# ---- errors


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["embed", "edgs.txt", "-o", "x.npz"], 1, ["'edgs.txt'", "did you mean 'edges.txt'"]),
        (["embed", "digit", "-o", "x.npz"], 1, ["did you mean 'digits'"]),
        (["embed", "nothing-like-it", "-o", "x.npz"], 1, ["karate", "cora"]),
        (["embed", "edges.txt", "-o", "x.xyz"], 1, [".xyz", ".npz"]),
        (["embed", "edges.txt"], 2, ["--output"]),
        (["embed", "edges.txt", "-o", "x.npz", "--levls", "2"], 2, ["--levels"]),
        (["embed", "edges.txt", "-o", "x.npz", "--levels", "two"], 2, ["--levels", "'two'"]),
        (["embed", "edges.txt", "-o", "x.npz", "--dtype", "float16"], 2, ["float16", "float64"]),
        (["embed", "edges.txt", "-o", "x.npz", "--method", "bosstne"], 2, ["bosstne", "'boostne'"]),
        (["embed", "edges.txt", "-o", "x.npz", "--dimensions", "5", "--levels", "2"], 1, ["multiple", "5", "2"]),
        (["embed", "edges.txt", "-o", "x.npz", "--levels", "0"], 1, ["levels", "got 0"]),
        (["embed", "edges.txt", "-o", "x.npz", "--threads", "0"], 1, ["threads", "got 0"]),
        (["embed", "edges.txt", "-o", "x.npz", *SMALL, "--seed", "-1"], 1, ["--seed", "got -1"]),
        (["embed", "edges.txt", "-o", "x.npz", "--method", "netmf", "--directed"], 1, ["--to-undirected", "boostne"]),
        (
            ["embed", "edges.txt", "-o", "x.npz", *SMALL, "--directed", "--approximation", "spectral"],
            1,
            ["--approximation exact"],
        ),
        (
            ["embed", "edges.txt", "-o", "x.npz", *SMALL, "--directed", "--connectivity", "line"],
            1,
            ["--connectivity deepwalk"],
        ),
        (["tune", "edges.txt", "-o", "x.npz", "--directed"], 1, ["tune takes undirected", "--to-undirected"]),
        (["embed", "edges.txt", "-o", "x.npz", "--delimiter", ","], 1, ["line 1", "delimiter"]),
        (["embed", ".", "-o", "x.npz"], 1, ["the folder has no Parquet files"]),
        (["embed", "karate", "-o", "x.npz", "--delimiter", ","], 2, ["--delimiter applies to files", "'karate'"]),
        (["embed", "edges.txt", "-o", "x.npz", "--memory", "4X"], 1, ["--memory", "'4X'", "2GB"]),
        (["embed", "edges.txt", "-o", "x.npz", "--negative", "few"], 2, ["--negative", "'few'"]),
        (["embed", "edges.txt", "-o", "x.npz", "--keep-matrix"], 2, ["--keep-matrix needs --checkpoint"]),
        (["embed", "edges.txt", "-o", "x.npz", "--engine", "dask"], 2, ["--scheduler or --workers"]),
        (["embed", "edges.txt", "-o", "x.npz", "--engine", "cuda", "--workers", "2"], 2, ["--engine cuda"]),
        (["embed", "edges.txt", "-o", "x.npz", "--memory", "2GB", "--workers", "2"], 2, ["--memory", "Dask"]),
        (["embed", "edges.txt", "-o", "x/", "--checkpoint", "x/c", "--scheduler", "y:1"], 1, ["checkpoint x/c and"]),
        (["embed", "edges.txt", "-o", "x.npz", "--workers", "0"], 1, ["--workers", "got 0"]),
        (["embed", "edges.txt", "-o", "x.npz", "--weight", "2", "--no-weight"], 2, ["exclude each other"]),
        (["estimate", "edges.txt", "--method", "hope"], 2, ["boostne and netmf", "got --method hope"]),
        (["embde", "edges.txt"], 2, ["'embed'"]),
        (["--", "--version"], 2, ["no command '--version'"]),
        (["evaluate", "none.npz", "karate"], 1, ["none.npz", "No such file"]),
        (["evaluate", "none.npz", "karate", "--train", "10,x"], 2, ["--train", "10,x"]),
        (["evaluate", "none.npz", "karate", "--classifier", "svm"], 2, ["--classifier", "svm", "liblinear", "fast"]),
        (["demo", "-o", "edges.txt"], 1, ["edges.txt", "folder"]),
        (["embed", "edges.txt", "-o", "../{folder}/edges.txt"], 1, ["would overwrite edges.txt", "another file"]),
        (["embed", "edges.txt", "-o", "two\nlines"], 1, ["two lines: the suffix", "got 'none'"]),
        (["embed", "edges.txt", "-o", "\x1b[1m.emb", "--levels", "0"], 1, ["levels"]),
        (["embed", "\udcff\x1b", "-o", "x.npz"], 1, [r"'\udcff\x1b'"]),
        (["embed", "edges.txt", "-o", "/dev/null/x.npz"], 1, ["/dev/null is not a folder"]),
        (["embed", "edges.txt", "-o", "x.npz", *SMALL, "--threads", "9" * 20], 1, ["threads", "at most 2,147,483,647"]),
        (["embed", "edges.txt", "-o", "x.npz", *SMALL, "--tol", "nan"], 1, ["tol", "nan"]),
        (["embed", "edges.txt", "-o", "x.npz", *SMALL, "--negative", "1e999"], 1, ["negative", "inf"]),
        (["embed", "edges.txt", "-o", "x.npz", *SMALL, "--workers", "9" * 9], 3, ["999,999,999 workers", "fewer"]),
        (["generate", "x.csv", "--nodes", "9" * 20], 3, ["nodes and", "EB of memory", "Generate fewer"]),
        (["generate", "x.csv", "--labels", "x.csv"], 1, ["x.csv would overwrite x.csv"]),
        (["evaluate", "edges.txt", "edges.txt", "--report", "edges.txt"], 1, ["would overwrite edges.txt"]),
    ],
)
def test_errors_name_the_problem_in_one_line(inside, folder, arguments, code, words):
    error = error_of(inside(*(argument.format(folder=folder.name) for argument in arguments), code=code))
    for word in words:
        assert word in error
    assert [file.name for file in folder.iterdir()] == ["edges.txt"]


@pytest.mark.parametrize("options", [["--levls", "2"], ["--levels"]])
def test_usage_errors_exit_with_2_and_point_to_the_help_of_the_command(boostne, options):
    done = boostne("embed", "edges.txt", "-o", "x.npz", *options, code=2)
    assert done.stdout == ""
    assert "--levels" in done.stderr
    assert done.stderr.splitlines()[-1] == "Try: boostne embed --help"


def test_graphs_without_edges_are_rejected(boostne, folder):
    (folder / "empty.txt").write_text("")
    assert "empty.txt: the file is empty" in error_of(boostne("embed", "empty.txt", "-o", "x.npz", code=1))
    (folder / "alone.adjlist").write_text("a\nb\n")
    error = error_of(boostne("embed", "alone.adjlist", "-o", "x.npz", *SMALL, code=1))
    assert "2 nodes and no edges" in error


def test_a_directed_graph_has_two_vectors_per_node(inside):
    done = inside("embed", "edges.txt", "-o", "x.csv", *SMALL, "--directed")
    assert "directed, unweighted" in done.stdout
    assert "x.targets.csv" in done.stdout
    found = read_embedding("x.csv")
    assert found.targets.nodes.tolist() == found.nodes.tolist()
    inside("embed", "edges.txt", "-o", "x.csv", *SMALL)
    assert not Path("x.targets.csv").exists()


def test_the_file_of_targets_does_not_overwrite_the_input(inside):
    Path("e.targets.csv").write_text(Path("edges.txt").read_text())
    done = inside("embed", "e.targets.csv", "-o", "e.csv", *SMALL, "--directed", code=1)
    assert "e.targets.csv would overwrite" in done.stderr


def test_to_undirected_accepts_a_directed_graph(inside):
    done = inside("embed", "edges.txt", "-o", "x.npz", *SMALL, "--directed", "--to-undirected")
    assert "6 nodes, 7 edges" in done.stdout


def test_output_is_checked_before_the_graph_is_read(boostne):
    error = error_of(boostne("embed", "no-such-graph", "-o", "missing/x.npz", code=1))
    assert "missing does not exist" in error
    assert "no-such-graph" not in error


def test_debug_shows_the_traceback(inside):
    done = inside("embed", "nothing", "-o", "x.npz", "--debug", code=1)
    assert done.stderr.startswith("Traceback")
    assert done.stderr.splitlines()[-1].startswith("boostne: error: there is no file or data set 'nothing'")


def test_insufficient_memory_is_detected_before_allocation(boostne, folder):
    n, m = 300_000, 900_000
    rng = np.random.default_rng(0)
    u = np.hstack([np.arange(n), rng.integers(n, size=m)])
    v = (u + np.hstack([np.ones(n, int), rng.integers(1, n, size=m)])) % n  # no self-loops, no isolated nodes
    A = sparse.csr_array((np.ones(len(u), np.float32), (u, v)), shape=(n, n))
    sparse.save_npz(folder / "big.npz", ((A + A.T) > 0).astype(np.float32))
    begin = time.perf_counter()
    done = boostne(
        "embed", "big.npz", "-o", "x.npz", "--approximation", "exact", "--window", "10", "--negative", "0.001", code=3
    )
    seconds = time.perf_counter() - begin
    error = error_of(done)
    needed = re.search(r"would need about (\d+) GB of memory; [\d.]+ [kMGT]B \(80% of the available", error)
    assert needed
    assert int(needed[1]) > 300
    assert "--approximation auto" in error
    assert seconds < 60
    assert not (folder / "x.npz").exists()


@needs_posix
@pytest.mark.parametrize("arguments", [["methods"], ["--help"], ["--version"]])
def test_a_closed_pipe_exits_with_141(folder, arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "boostne", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


@needs_posix
@pytest.mark.parametrize(
    ("arguments", "streams", "code"),
    [
        ("methods", ">&-", 0),
        ("methods --json", ">&- 2>&- <&-", 0),
        ("embed edges.txt -o x.npz --dimensions 4 --levels 2", ">&- 2>&- <&-", 0),
        ("generate x.csv", "2>&-", 0),
        ("embed nothing -o x.npz", "2>&-", 1),
        ("embed nothing -o x.npz", "2>/dev/full", 1),
        ("embde", ">&- 2>&-", 2),
    ],
)
def test_closed_streams(folder, arguments, streams, code):
    # Descriptors that are closed must not be those of the files that the program writes.
    command = f'exec "{sys.executable}" -m boostne {arguments} {streams}'
    done = subprocess.run(command, shell=True, cwd=folder, env=ENVIRONMENT, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (code, b"")
    for file in folder.glob("x.npz"):
        assert len(read_embedding(file)) == 6


# A destructor of a native library, and an exit handler of a module that the program imports.
ABORT_AT_END = """
import atexit, ctypes
from boostne.cli import main, program

def run(arguments, original=program.run):
    atexit.register(print, "last words")
    return original(arguments)

libc = ctypes.CDLL(None)
libc.__cxa_atexit(ctypes.cast(libc.abort, ctypes.c_void_p), None, None)
program.run = run
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's list of functions to call at exit")
@pytest.mark.parametrize(("arguments", "code"), [("methods", 0), ("methods --unknown", 2), ("evaluate karate x", 1)])
def test_destructors_of_libraries_cannot_abort_the_program(folder, arguments, code):
    command = [sys.executable, "-c", ABORT_AT_END, *arguments.split()]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert ("node2vec" in done.stdout) == (code == 0)
    assert done.stderr.startswith("boostne: error: ") == (code != 0)
    assert done.stdout.splitlines()[-1] == "last words"


@needs_posix
@pytest.mark.parametrize("arguments", [["methods"], ["--version"], ["embed", "edges.txt", "-o", "x.npz", *SMALL]])
def test_a_full_standard_output_is_one_line(folder, arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "boostne", *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    lines = without_reading_notes(done.stderr.decode()).splitlines()
    messages = [line for line in lines if not line.startswith("boostne: setting: ")]
    assert messages == ["boostne: error: standard output: No space left on device"]


def test_no_thread_can_be_started(inside, monkeypatch):
    def refuse(*args, **kwargs):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(BoostNE, "fit", refuse)
    assert "not enough memory" in error_of(inside("embed", "edges.txt", "-o", "x.npz", *SMALL, code=3))


# ---- at a terminal


class Terminal:
    """A run whose stderr is a terminal."""

    def __init__(self, folder, *arguments):
        import pty

        self.text = ""
        self._end, theirs = pty.openpty()
        self.process = start_python(
            *("-m", "boostne", *arguments),
            cwd=folder,
            env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)

    def read(self):
        """Read what is available, and return whether there may be more."""
        try:
            chunk = os.read(self._end, 65_536)
        except OSError:  # raised by Linux when the other end is closed
            return False
        self.text += chunk.decode(errors="replace")
        return bool(chunk)

    def wait_for(self, pattern):
        while not re.search(pattern, self.text):
            assert self.read(), f"ended before {pattern!r} was seen: {self.text}"

    def end(self):
        while self.read():
            pass
        os.close(self._end)
        with self.process.stdout as stdout:
            self.stdout = stdout.read().decode()
        return self.process.wait(timeout=60)


@pytest.fixture
def long_run(folder):
    """Start a run of about a minute, and kill it after the test."""
    rng = np.random.default_rng(0)
    np.savetxt(folder / "long.txt", rng.integers(3000, size=(30_000, 2)), fmt="%d")
    (folder / "out").mkdir()
    options = "--negative 0.2 --tol 0 --max-iter 5000"
    terminal = Terminal(folder, "embed", "long.txt", "-o", "out/x.npz", *options.split())
    yield terminal
    if terminal.process.poll() is None:
        terminal.process.kill()
        terminal.end()


@needs_posix
def test_interrupt_leaves_no_files(folder, long_run):
    long_run.wait_for(r"level 1/8, pass \d+, residual 0\.\d+")
    for _ in range(10):
        long_run.process.send_signal(signal.SIGINT)
    assert long_run.end() == 130
    assert "level 2/8" not in long_run.text
    assert long_run.text.count("boostne: interrupted; nothing was written") == 1
    assert "Traceback" not in long_run.text
    assert long_run.stdout == ""
    assert list((folder / "out").iterdir()) == []


def test_interrupt_with_a_checkpoint_says_how_to_resume(inside, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(BoostNE, "fit", interrupted)
    done = inside("embed", "edges.txt", "-o", "x.npz", *SMALL, "--checkpoint", "saved", code=130)
    message = "interrupted; finished levels are saved in saved; run the same command again to resume"
    assert done.stderr == f"boostne: {message}\n"


@needs_posix
def test_a_killed_run_leaves_no_incomplete_output(folder, long_run):
    long_run.wait_for("level 1/8")
    long_run.process.kill()
    assert long_run.end() == -signal.SIGKILL
    assert not (folder / "out" / "x.npz").exists()


@needs_posix
def test_progress_at_a_terminal(folder):
    terminal = Terminal(folder, "embed", "digits", "-o", "x.npz", "--max-iter", "300", "--tol", "0")
    assert terminal.end() == 0
    assert re.search(r"level \d/8, pass \d+, residual 0\.\d+", terminal.text)
    assert "x.npz" in terminal.stdout
    assert not CONTROL.search(terminal.stdout)
    quiet = Terminal(folder, "embed", "karate", "-o", "x.npz", "--quiet")
    assert quiet.end() == 0
    assert (quiet.text, quiet.stdout) == ("", "")


# ---- the other commands


def test_methods_lists_every_method(inside):
    text = inside("methods").stdout
    assert "boostne" in text
    assert "Li, Wu" in text
    rows = {row["method"]: row for row in json.loads(inside("methods", "--json").stdout)}
    assert set(rows) == set(METHODS)
    row = rows["boostne"]
    assert (row["weights"], row["direction"], row["engines"]) == (True, True, ["local", "cuda", "dask"])
    assert rows["hope"]["direction"]


def test_datasets_lists_sizes(inside):
    assert re.search(r"digits +1,797 +12,339 +10 +yes", inside("datasets").stdout)
    rows = json.loads(inside("datasets", "--json").stdout)
    assert {row["name"] for row in rows} >= {"digits", "karate", "cora", "wiki", "ppi", "blogcatalog"}


def test_estimate_is_close_to_the_exact_matrix(inside):
    text = inside("estimate", "digits").stdout
    for words in (
        "1,797",
        "12,339",
        "form of X",
        "entries of X",
        "peak memory",
        "free memory",
        "time for X",
        "time for levels",
    ):
        assert words in text
    found = json.loads(inside("estimate", "digits", "--json", "--window", 2).stdout)
    exact = BoostNE(window=2).connectivity_matrix(load_dataset("digits").graph)
    assert found["entries"] == pytest.approx(exact.nnz, rel=0.3)


def test_evaluate_gives_equal_scores_for_a_data_set_and_its_label_file(boostne, inside, folder):
    boostne("embed", "digits", "-o", "digits.emb", "--dimensions", 32, "--levels", 2)
    options = ("--train", "10,50", "--repeats", 2, "--seed", 1)
    text = boostne("evaluate", "digits.emb", "digits", *options).stdout
    assert "1,797 labeled nodes, 10 classes" in text
    found = json.loads(inside("evaluate", "digits.emb", "digits", *options, "--json").stdout)
    assert [row["train"] for row in found["summary"]] == [10, 50]
    assert found["repeats"] == 2
    assert min(row["micro_mean"] for row in found["summary"]) > 0.9
    labels = load_dataset("digits").labels
    lines = "".join(f"{node} {labels[node][0]}\n" for node in labels.nodes.tolist())
    (folder / "labels.txt").write_text(lines)
    assert inside("evaluate", "digits.emb", "labels.txt", *options).stdout == text


def test_evaluate_prints_csv_and_checksums(inside, folder):
    inside("embed", "karate", "-o", "karate.npz", *SMALL)
    options = ("--train", "30,60", "--repeats", 2, "--rule", "threshold")
    text = inside("evaluate", "karate.npz", "karate", *options, "--csv").stdout
    found = json.loads(inside("evaluate", "karate.npz", "karate", *options, "--json").stdout)
    head, *rows = [line.split(",") for line in text.splitlines()]
    assert head == ["ratio", "repeat", "micro", "macro", "absent"]
    assert [[float(cell) for cell in row] for row in rows] == [list(row.values()) for row in found["splits"]]
    embedding, labels = read_embedding(folder / "karate.npz"), load_dataset("karate").labels
    assert found["embedding_sha256"] == embedding_sha256(embedding)
    assert found["labels_sha256"] == labels_sha256(labels)
    regularized = json.loads(inside("evaluate", "karate.npz", "karate", *options, "-C", "0.5", "--json").stdout)
    assert "C = 0.5" in regularized["classifier"]
    fast = json.loads(inside("evaluate", "karate.npz", "karate", *options, "--classifier", "fast", "--json").stdout)
    assert "all labels at once" in fast["classifier"]
    assert fast["summary"][0]["micro_mean"] == pytest.approx(found["summary"][0]["micro_mean"], abs=1e-3)
    both = inside("evaluate", "karate.npz", "karate", "--csv", "--json", code=2)
    assert "--json and --csv exclude each other" in both.stderr
