"""Runs a reproduction and writes its result files."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from boostne.datasets import load_dataset
from boostne.errors import ParameterError
from boostne.io.atomic import check_writable
from boostne.progress import ProgressCallback, silent
from boostne.reproduction import result_rows
from boostne.reproduction.cache import Cache
from boostne.reproduction.csv_tables import CsvRow, to_csv, write_text
from boostne.reproduction.environment import describe
from boostne.reproduction.experiments import DatasetResults, run_experiments
from boostne.reproduction.plan import Protocol


@dataclass(frozen=True)
class Reproduction:
    """The files written by :func:`reproduce` and the rows of the main tables.

    Attributes
    ----------
    folder : Path
    scores, shortfalls : list of dict
        Rows of ``scores.csv`` and ``shortfalls.csv``.
    files : list of Path
    """

    folder: Path
    scores: list[CsvRow]
    shortfalls: list[CsvRow]
    files: list[Path]


def reproduce(
    datasets: Iterable[str],
    methods: Iterable[str],
    folder: Path,
    cache: Cache,
    *,
    protocol: Protocol | None = None,
    threads: int | None = None,
    progress: ProgressCallback = silent,
) -> Reproduction:
    """Compute the paper's tables, curves and maps, and write them as CSV files.

    Parameters
    ----------
    datasets : iterable of str
        Names of data sets.
    methods : iterable of str
        Class names; see :func:`choose_methods`.
    folder : Path
        Output folder, created if missing. For a given seed all files but ``run.json`` are identical, byte for byte.
    cache : Cache
    protocol : Protocol, optional
        The paper's protocol by default.
    threads : int, optional
        Number of threads; all cores by default.
    progress : callable, optional
        Called before each computation.
    """
    protocol = protocol or Protocol()
    _prepare(folder)
    started = datetime.now(UTC)
    loaded = [load_dataset(name) for name in datasets]
    results = run_experiments(loaded, tuple(methods), protocol, cache, threads=threads, progress=progress)
    scores = list(result_rows.score_rows(results, protocol))
    shortfalls = list(result_rows.shortfall_rows(scores))
    tables = {
        "scores": scores,
        "wilcoxon": result_rows.wilcoxon_rows(results, protocol),
        "approximation": result_rows.approximation_rows(results),
        "levels": result_rows.level_rows(results, protocol),
        "shortfalls": shortfalls,
    }
    files = [write_text(folder / f"{name}.csv", to_csv(name, rows)) for name, rows in tables.items()]
    files += _write_maps(folder / "maps", results)
    run = describe(results, protocol, threads)
    times = {"started": started, "finished": datetime.now(UTC)}
    run |= {name: time.isoformat(timespec="seconds") for name, time in times.items()}
    files.append(write_text(folder / "run.json", json.dumps(run, indent=1, ensure_ascii=False) + "\n"))
    return Reproduction(folder, scores, shortfalls, files)


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
