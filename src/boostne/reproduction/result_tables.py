"""The tables of tests, shortfalls and choices as formatted cells, shared by both reports."""

from collections import Counter
from collections.abc import Iterable
from statistics import median_low

from boostne.reproduction.csv_tables import METRIC_NAMES, CsvRow
from boostne.reproduction.results_folder import TunedChoice

ALPHA = 0.05

Cells = list[str]


def wilcoxon_table(rows: Iterable[CsvRow], significant: str) -> tuple[Cells, list[Cells]]:
    """Return header and cells of the Wilcoxon tests; `significant` is the format of p-values below `ALPHA`."""
    header = [
        "data set", "setting", "against", "metric", "win / tie / loss", "difference", "effect", "p", "p (Holm)",
    ]  # fmt: skip
    return header, [
        [
            row["dataset"],
            row["setting"],
            row["method"],
            METRIC_NAMES[row["metric"]],
            f"{row['wins']} / {row['ties']} / {row['losses']}",
            f"{float(row['difference']):+.4f}",
            f"{float(row['effect']):+.2f}",
            *(
                significant.format(f"{p:.2g}") if p < ALPHA else f"{p:.2g}"
                for p in (float(row["p"]), float(row["p_holm"]))
            ),
        ]
        for row in rows
    ]


def shortfall_table(rows: Iterable[CsvRow]) -> tuple[Cells, list[Cells]]:
    """Return header and cells of the scores below the paper's."""
    header = [
        "data set", "metric", "train", "paper", "ours", "standard error", "difference", "other setting",
    ]  # fmt: skip
    return header, [
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


def choice_table(choices: Iterable[TunedChoice]) -> tuple[Cells, list[Cells]]:
    """Return header and cells of the most frequent candidate and the median C by method and training ratio."""
    by_cell: dict[str, dict[float, list[TunedChoice]]] = {}
    for choice in choices:
        by_cell.setdefault(choice.method, {}).setdefault(choice.train, []).append(choice)
    train = sorted({ratio for cells in by_cell.values() for ratio in cells})
    return ["", *(f"{ratio:g} %" for ratio in train)], [
        [method, *(_describe_choices(cells[ratio]) if ratio in cells else "" for ratio in train)]
        for method, cells in by_cell.items()
    ]


def _describe_choices(choices: list[TunedChoice]) -> str:
    (candidate, count), *_ = Counter(choice.candidate for choice in choices).most_common()
    return f"{candidate} ({count} of {len(choices)}), C = {median_low(choice.C for choice in choices):g}"
