"""The content of ``run.json``: protocol, machine, versions, data sets, and the only timings of all files."""

import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from boostne.evaluation.checksum import labels_sha256
from boostne.evaluation.result import CLASSIFIERS, RULES, versions
from boostne.kernels import available_threads, instruction_set
from boostne.reproduction.experiments import RULE, C, DatasetResults, ExperimentResult
from boostne.reproduction.plan import Protocol


def describe(results: list[DatasetResults], protocol: Protocol, threads: int | None) -> dict[str, Any]:
    """Return the facts about a run, with the time that each computation took."""
    return {
        "protocol": asdict(protocol)
        | {
            "classifier": CLASSIFIERS["liblinear"].format(C=C),
            "rule": f"{RULE}: {RULES[RULE]}",
            "approximation_error": "||R_{k+1}||_F / ||X||_F, R_{i+1} = max(R_i - U_i V_i, 0), paper setting",
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": processor(),
            "cores": available_threads(),
            "threads": threads or available_threads(),
            "instruction_set": instruction_set(),
        },
        "versions": {"python": platform.python_version(), **versions("scipy")},
        "datasets": [_describe_dataset(dataset) for dataset in results],
    }


def _describe_dataset(dataset: DatasetResults) -> dict[str, Any]:
    data = dataset.data
    return {
        "name": data.name,
        "nodes": data.graph.n_nodes,
        "edges": data.graph.n_edges,
        "classes": len(data.labels.classes),
        "graph_sha256": data.graph.fingerprint(),
        "labels_sha256": labels_sha256(data.labels),
        "experiments": [_describe_experiment(result) for result in dataset.results],
    }


def _describe_experiment(result: ExperimentResult) -> dict[str, Any]:
    experiment = result.experiment
    return {
        "name": experiment.name,
        "settings": experiment.settings,
        **experiment.configuration.key(),
        "seconds": {name: round(value, 3) for name, value in result.seconds().items()},
    }


def processor() -> str:
    """Return the name of this machine's processor."""
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or os.environ.get("PROCESSOR_IDENTIFIER", "unknown")
