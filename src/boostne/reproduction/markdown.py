"""``results.md``: the tables and figures of a folder of results, made from its files alone."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from boostne.reproduction.report_page import charts_of
from boostne.reproduction.result_charts import approximation_in_words
from boostne.reproduction.results_folder import read_reproduction
from boostne.reproduction.tables import (
    METRIC_NAMES,
    Row,
    better_setting,
    distinct,
    read_rows,
    row_name,
    write_text,
)

ALPHA = 0.05


def write_results_page(folder: Path) -> Path:
    """Write ``results.md`` from the CSV files and ``run.json``, with the figures for print that are there."""
    scores, levels, errors = (
        read_rows(folder / f"{name}.csv") for name in ("scores", "levels", "approximation")
    )
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    found = read_reproduction(folder)
    pictures = [
        name for chart in charts_of(found) if (folder / (name := f"figures/{chart.name}.svg")).exists()
    ]
    parts = [
        _head(facts),
        _summary(scores),
        *_score_tables(scores),
        _approximation(errors, approximation_in_words(found.errors)),
        _levels(levels),
        "\n\n".join(f"![{Path(name).stem}]({name})" for name in pictures),
        _wilcoxon(read_rows(folder / "wilcoxon.csv")),
        _shortfalls(read_rows(folder / "shortfalls.csv"), scores),
    ]
    page = folder / "results.md"
    write_text(page, "\n\n".join(part for part in parts if part) + "\n")
    return page


def _head(facts: dict[str, Any]) -> str:
    protocol, machine = facts["protocol"], facts["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        "# The paper, computed anew\n\n"
        "Made by `boostne reproduce` from the CSV files beside it; not edited by hand. "
        f"{protocol['repeats']} random splits a ratio, seed {protocol['seed']}; {protocol['classifier']}; "
        f"{protocol['rule']}. Run with {versions} on {machine['processor']} ({machine['cores']} cores, "
        f"{machine['instruction_set']}); [run.json](run.json) has checksums, parameters and times.\n\n"
        'BoostNE stands in two settings: "paper" (X from 256 eigenpairs, T = 10) and "recommended" (one rule for all '
        "graphs that looks at the graph alone, see docs/method.md). In brackets: ours minus the paper's."
    )


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _summary(scores: list[Row]) -> str:
    """Set both settings of BoostNE, and the better one, against the paper."""
    cells = [row for row in scores if row["method"] == "BoostNE" and row["paper"]]
    if not cells:
        return ""
    lines = []
    chosen: list[Row] = []
    for dataset in distinct(cells, "dataset"):
        here = [row for row in cells if row["dataset"] == dataset]
        best = better_setting(here)
        chosen += [row for row in here if row["setting"] == best]
        for setting in distinct(here, "setting"):
            name = f"{setting} (better)" if setting == best else setting
            lines.append([dataset, name, *_against([row for row in here if row["setting"] == setting])])
    lines.append(["**all**", "better of the two", *_against(chosen)])
    heads = [
        "data set",
        "setting",
        "cells",
        "mean difference",
        "lowest Micro-F1 difference",
        "cells under by > SE",
    ]
    return "## BoostNE against the paper\n\n" + _table(heads, lines)


def _against(rows: list[Row]) -> list[str]:
    differences = [float(row["difference"]) for row in rows]
    micro = [float(row["difference"]) for row in rows if row["metric"] == "micro-f1"]
    under = sum(float(row["difference"]) < -float(row["se"]) for row in rows)
    return [str(len(rows)), f"{sum(differences) / len(rows):+.4f}", f"{min(micro):+.4f}", str(under)]


def _score_tables(scores: list[Row]) -> Iterator[str]:
    for dataset in distinct(scores, "dataset"):
        for metric, name in METRIC_NAMES.items():
            here = [row for row in scores if (row["dataset"], row["metric"]) == (dataset, metric)]
            heads = ["", *(f"{ratio} %" for ratio in distinct(here, "train_percent"))]
            lines: dict[str, list[str]] = {}
            for row in here:
                lines.setdefault(row_name(row), []).append(_cell(row))
            yield f"## {dataset}: {name}\n\n" + _table(heads, ([name, *line] for name, line in lines.items()))


def _cell(row: Row) -> str:
    difference = f" ({float(row['difference']):+.3f})" if row["difference"] else ""
    return f"{float(row['mean']):.3f}{difference}"


def _approximation(errors: list[Row], words: list[str]) -> str:
    if not errors:
        return ""
    heads = ["k", *distinct(errors, "k")]
    lines = [
        [dataset, *(f"{float(row['relative_error']):.3f}" for row in errors if row["dataset"] == dataset)]
        for dataset in distinct(errors, "dataset")
    ]
    return (
        "## Approximation error\n\n"
        "What k levels leave of X: the norm of the residual, clipped at 0 as the paper defines it, over the norm of "
        f"X; d = 128, the paper's setting. {'. '.join(words)}.\n\n" + _table(heads, lines)
    )


def _levels(levels: list[Row]) -> str:
    if not levels:
        return ""
    parts = ["## F1 against the number of levels\n\nBoostNE in the paper's setting; NetMF has one level."]
    for metric, name in METRIC_NAMES.items():
        rows = [row for row in levels if row["metric"] == metric]
        boosted = [row for row in rows if row["method"] == "BoostNE"]
        numbers = distinct(boosted, "k")
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:
            column = row["k"] if row["method"] == "BoostNE" else row["method"]
            lines.setdefault((row["dataset"], row["train_percent"]), {})[column] = f"{float(row['mean']):.3f}"
        heads = [f"{name}, k", *numbers, "NetMF"]
        body = [
            [f"{dataset}, {ratio} %", *(line.get(head, "") for head in heads[1:])]
            for (dataset, ratio), line in lines.items()
        ]
        parts.append(_table(heads, body))
    return "\n\n".join(parts)


def _wilcoxon(tests: list[Row]) -> str:
    if not tests:
        return ""
    heads = [
        "data set",
        "setting",
        "against",
        "metric",
        "win / tie / loss",
        "difference",
        "effect",
        "p",
        "p (Holm)",
    ]
    lines = [
        [
            row["dataset"],
            row["setting"],
            row["method"],
            METRIC_NAMES[row["metric"]],
            f"{row['wins']} / {row['ties']} / {row['losses']}",
            f"{float(row['difference']):+.4f}",
            f"{float(row['effect']):+.2f}",
            *(_marked(float(row[name])) for name in ("p", "p_holm")),
        ]
        for row in tests
    ]
    return (
        "## Wilcoxon's signed-rank test\n\n"
        "BoostNE against each other method over all splits and ratios, two-sided; bold where p < 0.05. Holm's "
        "correction is for all tests of a data set. The splits share nodes, so p is too small: read the effect "
        "(rank-biserial, 1 when BoostNE is better on every split) and the difference first.\n\n"
        + _table(heads, lines)
    )


def _marked(p: float) -> str:
    return f"**{p:.2g}**" if p < ALPHA else f"{p:.2g}"


def _shortfalls(rows: list[Row], scores: list[Row]) -> str:
    if not any(row["method"] == "BoostNE" and row["paper"] for row in scores):
        return ""
    title = "## Where BoostNE is under the paper\n\n"
    if not rows:
        return title + "No cell of the better setting is under the paper's by more than its standard error."
    heads = [
        "data set",
        "metric",
        "train",
        "paper",
        "ours",
        "standard error",
        "difference",
        "the other setting",
    ]
    lines = [
        [
            row["dataset"],
            METRIC_NAMES[row["metric"]],
            f"{row['train_percent']} %",
            f"{float(row['paper']):.3f}",
            f"{float(row['mean']):.3f} ({row['setting']})",
            f"{float(row['se']):.4f}",
            f"{float(row['difference']):+.4f}",
            f"{float(row['other_mean']):.3f} ({row['other_setting']})" if row["other_mean"] else "",
        ]
        for row in rows
    ]
    return (
        title + "Cells of the better setting that are under the paper's by more than their standard error; "
        "docs/method.md says what was tried.\n\n" + _table(heads, lines)
    )
