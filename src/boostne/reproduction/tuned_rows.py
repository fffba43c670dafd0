"""The rows of the tables of the tuned comparison."""

from collections.abc import Iterable, Iterator

import numpy as np

from boostne.evaluation import Evaluation, compare
from boostne.reproduction.csv_tables import ALL_RATIOS, METRICS, CsvRow
from boostne.reproduction.plan import Protocol
from boostne.reproduction.result_rows import pair_test_rows, summaries, summary
from boostne.reproduction.tuned_comparison import TunedDataset

SETTING = "tuned"


def tuned_score_rows(datasets: Iterable[TunedDataset], protocol: Protocol) -> Iterator[CsvRow]:
    """Yield the scores by training ratio, and their means over all ratios."""
    for dataset in datasets:
        for result in dataset.results:
            evaluation = result.evaluation(protocol.tuned_train)
            for row in (*summaries(evaluation), *_overall(evaluation)):
                yield {"dataset": dataset.data.name, "method": result.method, **row}


def tuned_choice_rows(datasets: Iterable[TunedDataset], protocol: Protocol) -> Iterator[CsvRow]:
    """Yield what was chosen for each split."""
    for dataset in datasets:
        for result in dataset.results:
            evaluation = result.evaluation(protocol.tuned_train)
            for row, choice in zip(evaluation.scores, evaluation.choices, strict=True):
                yield {
                    "dataset": dataset.data.name,
                    "method": result.method,
                    "train_percent": int(row["ratio"]),
                    "repeat": int(row["repeat"]),
                    "candidate": choice.candidate,
                    "C": f"{choice.C:g}",
                }


def tuned_wilcoxon_rows(datasets: Iterable[TunedDataset], protocol: Protocol) -> Iterator[CsvRow]:
    """Yield the tests of BoostNE against each other method; Holm's correction is over all tests of a data set."""
    for dataset in datasets:
        scored = {result.method: result.evaluation(protocol.tuned_train) for result in dataset.results}
        boostne = scored.pop("BoostNE", None)
        if boostne is not None:
            pairs = ({"BoostNE": boostne, method: evaluation} for method, evaluation in scored.items())
            tests = [(SETTING, test) for pair in pairs for test in compare(pair).tests]
            yield from pair_test_rows(dataset.data.name, tests)


def _overall(evaluation: Evaluation) -> Iterator[CsvRow]:
    """Yield the mean over all ratios, which has one value per repeat."""
    for metric, field in METRICS.items():
        values = evaluation.scores[field].reshape(len(evaluation.train), evaluation.repeats).mean(axis=0)
        std = float(np.std(values, ddof=min(1, len(values) - 1)))
        yield summary(metric, ALL_RATIOS, float(values.mean()), std, len(values))
