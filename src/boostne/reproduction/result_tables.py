"""The tables of tests and shortfalls as formatted cells, shared by both reports."""

from collections.abc import Iterable

from boostne.reproduction.csv_tables import METRIC_NAMES, CsvRow

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
