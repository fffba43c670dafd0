"""From the names of data sets to the files with the results."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from boostne.datasets import load_dataset
from boostne.errors import ParameterError
from boostne.io.atomic import check_writable
from boostne.progress import ProgressCallback, silent
from boostne.reproduction import tables
from boostne.reproduction.cache import Cache
from boostne.reproduction.environment import describe
from boostne.reproduction.plan import Protocol
from boostne.reproduction.run import DatasetResults, run


@dataclass(frozen=True)
class Reproduction:
    """What was written, and the rows of the main tables.

    Attributes
    ----------
    folder : Path
    scores, shortfalls : list of dict
        The rows of ``scores.csv`` and ``shortfalls.csv``.
    files : list of Path
    """

    folder: Path
    scores: list[tables.Row]
    shortfalls: list[tables.Row]
    files: list[Path]


def reproduce(
    datasets: Iterable[str],
    methods: Iterable[str],
    folder: Path,
    cache: Cache,
    *,
    protocol: Protocol | None = None,
    threads: int | None = None,
    report: ProgressCallback = silent,
) -> Reproduction:
    """Compute the paper's tables, curves and maps, and write them as CSV files.

    Parameters
    ----------
    datasets : iterable of str
        Names of data sets.
    methods : iterable of str
        Names of classes; see :func:`choose_methods`.
    folder : Path
        Where the files go; made if missing. All but ``run.json`` are the same, byte for byte, for the same seed.
    cache : Cache
    protocol : Protocol, optional
        The paper's by default.
    threads : int, optional
        By default every core.
    report : callable, optional
        Told how far the work is.
    """
    protocol = protocol or Protocol()
    _prepare(folder)
    started = datetime.now(UTC)
    loaded = [load_dataset(name) for name in datasets]
    results = run(loaded, tuple(methods), protocol, cache, threads=threads, report=report)
    scores = list(tables.score_rows(results, protocol))
    shortfalls = list(tables.shortfall_rows(scores))
    texts = {
        "scores": scores,
        "wilcoxon": tables.wilcoxon_rows(results, protocol),
        "approximation": tables.approximation_rows(results),
        "levels": tables.level_rows(results, protocol),
        "shortfalls": shortfalls,
    }
    files = [_write(folder / f"{name}.csv", tables.to_csv(name, rows)) for name, rows in texts.items()]
    files += _write_maps(folder / "maps", results)
    facts = describe(results, protocol, threads)
    times = {"started": started, "finished": datetime.now(UTC)}
    facts |= {name: time.isoformat(timespec="seconds") for name, time in times.items()}
    files.append(_write(folder / "run.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n"))
    return Reproduction(folder, scores, shortfalls, files)


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder} is a file; give the name of a folder")
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "scores.csv")


def _write_maps(folder: Path, results: Iterable[DatasetResults]) -> list[Path]:
    files = []
    for result in results:
        rows = list(tables.map_rows(result))
        if rows:
            folder.mkdir(exist_ok=True)
            files.append(_write(folder / f"{result.data.name}.csv", tables.to_csv("map", rows)))
    return files


def _write(path: Path, text: str) -> Path:
    tables.write_text(path, text)
    return path
