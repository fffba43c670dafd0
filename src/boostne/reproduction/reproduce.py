"""Runs a reproduction and writes its result files."""

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from boostne.datasets import load_dataset
from boostne.errors import ParameterError
from boostne.io.atomic import check_writable
from boostne.kernels import available_threads
from boostne.progress import ProgressOption, reporting
from boostne.reproduction import result_rows
from boostne.reproduction.cache import Cache
from boostne.reproduction.computations import compute
from boostne.reproduction.csv_tables import CsvRow, to_csv, write_text
from boostne.reproduction.environment import describe
from boostne.reproduction.experiments import DatasetResults, plan_experiments
from boostne.reproduction.parallel import compute_in_processes
from boostne.reproduction.plan import Protocol
from boostne.reproduction.tuned_comparison import TunedDataset, plan_tuned
from boostne.reproduction.tuned_rows import tuned_choice_rows, tuned_score_rows, tuned_wilcoxon_rows
from boostne.reproduction.worker import PAPER_PART, TUNED_PART, Assignment
from boostne.validation import check_integer


@dataclass(frozen=True)
class Reproduction:
    """The files written by :func:`reproduce` and the rows of the main tables.

    Attributes
    ----------
    folder : Path
    scores, shortfalls, tuned_scores : list of dict
        Rows of ``scores.csv``, ``shortfalls.csv`` and ``tuned_scores.csv``.
    files : list of Path
    """

    folder: Path
    scores: list[CsvRow]
    shortfalls: list[CsvRow]
    tuned_scores: list[CsvRow]
    files: list[Path]


def reproduce(
    datasets: Iterable[str],
    methods: Iterable[str],
    folder: Path,
    cache: Cache,
    *,
    tuned_datasets: Iterable[str] = (),
    protocol: Protocol | None = None,
    threads: int | None = None,
    jobs: int = 1,
    progress: ProgressOption = False,
) -> Reproduction:
    """Compute the paper's tables, curves and maps, and the tuned comparison, and write them as CSV files.

    Parameters
    ----------
    datasets : iterable of str
        Names of data sets; without any, this part is omitted.
    methods : iterable of str
        Class names; see :func:`choose_methods`. Each part runs those that belong to it.
    folder : Path
        Output folder, created if missing. For a given seed all files but ``run.json`` are identical, byte for byte.
    cache : Cache
    tuned_datasets : iterable of str, optional
        Names of the data sets of the tuned comparison; without any, this part is omitted.
    protocol : Protocol, optional
        The paper's protocol by default.
    threads : int, optional
        Number of threads of each process; by default all cores divided by the number of processes.
    jobs : int, default 1
        Number of processes. The result files do not depend on it. Processes are spawned: a script that calls this
        with more than one must do so under ``if __name__ == "__main__":``.
    progress : callable or bool, default False
        Called before each computation; True shows a progress bar.
    """
    protocol = protocol or Protocol()
    jobs = check_integer("jobs", jobs, 1)
    if threads is None and jobs > 1:
        threads = max(1, available_threads() // jobs)
    datasets, tuned_datasets = tuple(datasets), tuple(tuned_datasets)
    _prepare(folder)
    started = datetime.now(UTC)
    loaded = {name: load_dataset(name) for name in dict.fromkeys((*datasets, *tuned_datasets))}
    chosen = tuple(methods)
    results, pending = plan_experiments([loaded[name] for name in datasets], chosen, protocol, cache, threads)
    tuned, more = plan_tuned([loaded[name] for name in tuned_datasets], chosen, protocol, cache, threads)
    with reporting(progress) as report:
        if jobs == 1:
            compute([*pending, *more], cache, report)
        else:
            level = logging.getLogger("boostne").getEffectiveLevel()
            assignment = Assignment(chosen, protocol, threads, cache.folder.absolute(), level)
            compute_in_processes({PAPER_PART: pending, TUNED_PART: more}, assignment, jobs, report)
    tables = (_paper_tables(results, protocol) if results else {}) | (_tuned_tables(tuned, protocol) if tuned else {})
    files = [write_text(folder / f"{name}.csv", to_csv(name, rows)) for name, rows in tables.items()]
    files += _write_maps(folder / "maps", results)
    run = describe(results, protocol, threads, tuned, jobs)
    times = {"started": started, "finished": datetime.now(UTC)}
    run |= {name: time.isoformat(timespec="seconds") for name, time in times.items()}
    files.append(write_text(folder / "run.json", json.dumps(run, indent=1, ensure_ascii=False) + "\n"))
    rows = {name: tables.get(name, []) for name in ("scores", "shortfalls", "tuned_scores")}
    return Reproduction(folder, files=files, **rows)


def _paper_tables(results: list[DatasetResults], protocol: Protocol) -> dict[str, list[CsvRow]]:
    scores = list(result_rows.score_rows(results, protocol))
    return {
        "scores": scores,
        "wilcoxon": list(result_rows.wilcoxon_rows(results, protocol)),
        "approximation": list(result_rows.approximation_rows(results)),
        "levels": list(result_rows.level_rows(results, protocol)),
        "shortfalls": list(result_rows.shortfall_rows(scores)),
    }


def _tuned_tables(results: list[TunedDataset], protocol: Protocol) -> dict[str, list[CsvRow]]:
    return {
        "tuned_scores": list(tuned_score_rows(results, protocol)),
        "tuned_choices": list(tuned_choice_rows(results, protocol)),
        "tuned_wilcoxon": list(tuned_wilcoxon_rows(results, protocol)),
    }


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder} is a file; the output must be a folder")
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "scores.csv")


def _write_maps(folder: Path, datasets: Iterable[DatasetResults]) -> list[Path]:
    files = []
    for dataset in datasets:
        rows = list(result_rows.map_rows(dataset))
        if rows:
            folder.mkdir(exist_ok=True)
            files.append(write_text(folder / f"{dataset.data.name}.csv", to_csv("map", rows)))
    return files
