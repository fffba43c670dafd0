"""Checkpoints with flipped bits and exchanged files: runs that resume must give the same bits, or be refused."""

import multiprocessing
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import save, show
from boostne import BoostNE, Checkpoint, planted_partition
from boostne.errors import CheckpointError

FLIPS = 1000
SWAPS = 200
SEED = 0
TIMEOUT_S = 20
LEVELS = 4
STORED_LEVELS = 3  # as if the run had been killed during the last level
# The run that is resumed, and how others differ from it, from which files are taken.
BASE = "resumed run"
OTHERS: dict[str, dict[str, Any]] = {
    "another seed": {"random_state": 1},
    "other dimensions": {"dimensions": 2 * LEVELS},
    "another dtype": {"dtype": "float64"},
    "another graph": {"graph_seed": 1},
    "another number of nodes": {"nodes": 50},
    "another matrix": {"connectivity": "adjacency"},
}
SAME, REFUSED = "same bits", "refused"


@dataclass(frozen=True)
class Case:
    """A change to one checkpoint folder.

    Attributes
    ----------
    kind : str
        "flip", or where the file comes from.
    file : str
        The file that is changed.
    source : str
        The file that replaces it, relative to the folder of all runs; empty for a flip.
    bit : float
        Position of the flipped bit, from 0 to 1.
    """

    kind: str
    file: str
    source: str = ""
    bit: float = 0.0

    def apply(self, runs: Path, folder: Path) -> None:
        """Change a copy of the folder of the resumed run."""
        path = folder / self.file
        if self.source:
            shutil.copy(runs / self.source, path)
            return
        content = bytearray(path.read_bytes())
        byte, bit = divmod(int(self.bit * 8 * len(content)), 8)
        content[byte] ^= 1 << bit
        path.write_bytes(content)


def run() -> None:
    """Resume from 1,000 folders with one flipped bit and 200 with a file from elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        prepare(runs)
        cases = [*flips(runs, FLIPS), *swaps(runs, SWAPS)]
        begin = time.perf_counter()
        outcomes = list(watched(runs, cases))
        seconds = time.perf_counter() - begin
    counts = Counter((case.kind, case.file, outcome) for case, outcome in zip(cases, outcomes, strict=True))
    rows = [
        {"kind": kind, "file": file, "outcome": outcome, "cases": number}
        for (kind, file, outcome), number in sorted(counts.items())
    ]
    show(f"{len(cases)} damaged checkpoints ({seconds:.0f} s)", rows)
    passed = {
        name: sum(outcome in (SAME, REFUSED) for case, outcome in zip(cases, outcomes, strict=True) if choose(case))
        for name, choose in (("flips", lambda case: not case.source), ("swaps", lambda case: case.source))
    }
    print(f"passed: {passed['flips']} of {FLIPS} flips, {passed['swaps']} of {SWAPS} swaps")
    save("damaged_checkpoints", rows, seed=SEED, flips=FLIPS, swaps=SWAPS, passed=passed)


def prepare(runs: Path) -> None:
    """Store the checkpoints of all runs, and the result of the one to be resumed."""
    for name in (BASE, *OTHERS):
        model = fit(name, runs / name)
        if name == BASE:
            (runs / "expected").write_bytes(result(model))
        for number in range(STORED_LEVELS + 1, LEVELS + 1):
            (runs / name / f"level-{number:02d}.npz").unlink()


def fit(name: str, folder: Path) -> BoostNE:
    """Run, or resume, one of the runs."""
    settings = {"dimensions": 4 * LEVELS, "nodes": 60, "graph_seed": 0, **OTHERS.get(name, {})}
    nodes, graph_seed = settings.pop("nodes"), settings.pop("graph_seed")
    graph = planted_partition(nodes, communities=3, mean_degree=6, seed=graph_seed).graph
    checkpoint = Checkpoint(folder, keep_matrix=True)
    return BoostNE(levels=LEVELS, max_iter=10, threads=1, checkpoint=checkpoint, **settings).fit(graph)


def result(model: BoostNE) -> bytes:
    """Return all that a run computes, as bytes."""
    arrays = (model.embedding_.vectors, model.context_, model.residual_norms_, model.n_iter_, model.nnz_)
    return b"".join(map(np.ndarray.tobytes, (*arrays, *model.objective_)))


def flips(runs: Path, number: int) -> list[Case]:
    """Draw flips: a file, then one of its bits."""
    rng = np.random.default_rng([SEED, 0])
    files = stored_files(runs / BASE)
    return [Case("flip", str(rng.choice(files)), bit=rng.random()) for _ in range(number)]


def swaps(runs: Path, number: int) -> list[Case]:
    """Draw exchanges of files with other runs, and of levels within the run."""
    rng = np.random.default_rng([SEED, 1])
    files = stored_files(runs / BASE)
    levels = [name for name in files if name.startswith("level")]
    cases = []
    for _ in range(number):
        kind = str(rng.choice(["another level", *OTHERS]))
        if kind == "another level":
            file, other = map(str, rng.choice(levels, 2, replace=False))
            cases.append(Case(kind, file, f"{BASE}/{other}"))
        else:
            file = str(rng.choice(files))
            cases.append(Case(kind, file, f"{kind}/{file}"))
    return cases


def stored_files(folder: Path) -> list[str]:
    """Return the names of the files in a checkpoint folder."""
    return sorted(path.name for path in folder.iterdir())


def outcome(runs: Path, case: Case) -> str:
    """Resume from a changed folder; returns "same bits", "refused", or what went wrong."""
    with tempfile.TemporaryDirectory(dir=runs) as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        folder = Path(name) / "checkpoint"
        shutil.copytree(runs / BASE, folder)
        case.apply(runs, folder)
        try:
            found = result(fit(BASE, folder))
        except CheckpointError:
            return REFUSED
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return SAME if found == (runs / "expected").read_bytes() else "other bits"


def watched(runs: Path, cases: Sequence[Case]) -> Iterator[str]:
    """Yield the outcome of each case, found in a child process that is replaced if it crashes or hangs."""
    context = multiprocessing.get_context("spawn")
    done = 0
    while done < len(cases):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(sender, runs, cases[done:]))
        process.start()
        sender.close()
        try:
            while receiver.poll(TIMEOUT_S):
                yield receiver.recv()
                done += 1
                if done == len(cases):
                    break
            else:
                process.kill()
                yield "hang"
                done += 1
        except EOFError:
            process.join()
            yield f"ended with {process.exitcode}"  # negative: by a signal
            done += 1
        process.join()


def _work(sender: Any, runs: Path, cases: Sequence[Case]) -> None:
    for case in cases:
        sender.send(outcome(runs, case))
