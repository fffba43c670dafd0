"""The content of ``run.json``: protocol, machine, versions, data sets, and the only timings of all files."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from boostne.datasets import Dataset
from boostne.evaluation.checksum import labels_sha256
from boostne.evaluation.result import CLASSIFIERS, RULES, versions
from boostne.kernels import available_threads, instruction_set
from boostne.reproduction.computations import Values, seconds
from boostne.reproduction.experiments import RULE, C, DatasetResults, ExperimentResult
from boostne.reproduction.plan import Protocol
from boostne.reproduction.tuned_comparison import FOLDS, TunedDataset, TunedResult


def describe(
    results: list[DatasetResults],
    protocol: Protocol,
    threads: int | None,
    tuned: Sequence[TunedDataset] = (),
    jobs: int = 1,
) -> dict[str, Any]:
    """Return the facts about a run, with the time that each computation took."""
    datasets = {data.name: data for data in [dataset.data for dataset in results] + [dataset.data for dataset in tuned]}
    experiments = {dataset.data.name: list(map(_describe_experiment, dataset.results)) for dataset in results}
    tuned_methods = {dataset.data.name: list(map(_describe_tuned, dataset.results)) for dataset in tuned}
    return {
        "protocol": asdict(protocol)
        | {
            "classifier": CLASSIFIERS["liblinear"].format(C=C),
            "rule": f"{RULE}: {RULES[RULE]}",
            "approximation_error": "||R_{k+1}||_F / ||X||_F, R_{i+1} = max(R_i - U_i V_i, 0), paper setting",
            "tuned": _describe_protocol_of_tuning(protocol),
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": processor(),
            "cores": available_threads(),
            "jobs": jobs,
            "threads": threads or available_threads(),
            "instruction_set": instruction_set(),
        },
        "versions": {"python": platform.python_version(), **versions("scipy")},
        "datasets": [
            _describe_dataset(data) | {"experiments": experiments.get(name, []), "tuned": tuned_methods.get(name, [])}
            for name, data in datasets.items()
        ],
    }


def _describe_protocol_of_tuning(protocol: Protocol) -> str:
    grid = ", ".join(f"{C:g}" for C in protocol.tuned_strengths)
    return (
        f"Each method chooses among its own candidates (docs/method.md) and C = {grid} for every split, by "
        f"{FOLDS}-fold cross-validated Micro-F1 within the training nodes; all vectors are scaled to a "
        f"root-mean-square length of 1. {protocol.tuned_repeats} random splits per ratio."
    )


def _describe_dataset(data: Dataset) -> dict[str, Any]:
    return {
        "name": data.name,
        "nodes": data.graph.n_nodes,
        "edges": data.graph.n_edges,
        "classes": len(data.labels.classes),
        "graph_sha256": data.graph.fingerprint(),
        "labels_sha256": labels_sha256(data.labels),
    }


def _describe_experiment(result: ExperimentResult) -> dict[str, Any]:
    experiment = result.experiment
    return {
        "name": experiment.name,
        "settings": experiment.settings,
        **experiment.configuration.key(),
        "seconds": _rounded_seconds(result.values),
    }


def _describe_tuned(result: TunedResult) -> dict[str, Any]:
    return {
        "name": result.method,
        "candidates": {name: configuration.key() for name, configuration in result.candidates.items()},
        "seconds": _rounded_seconds(result.values),
    }


def _rounded_seconds(values: Values) -> dict[str, float]:
    return {name: round(value, 3) for name, value in seconds(values).items()}


def processor() -> str:
    """Return the name of this machine's processor."""
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or os.environ.get("PROCESSOR_IDENTIFIER", "unknown")
