"""The results of a reproduction in a few sentences: which method is best, by how much, and how sure that is."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from boostne.reproduction.csv_tables import METRIC_NAMES, CsvRow
from boostne.reproduction.result_tables import ALPHA
from boostne.reproduction.results_folder import ResultsFolder, Score, TunedScore
from boostne.reproduction.tuned_rows import SETTING as TUNED

_METRIC = "micro-f1"
_NAME = METRIC_NAMES[_METRIC]
_OURS = "BoostNE"


class _Ranked(NamedTuple):
    """A method in a setting, and its mean score over all training ratios."""

    method: str
    setting: str
    name: str
    mean: float


class _Lead(NamedTuple):
    """The best method on a data set, and a sentence on it."""

    dataset: str
    method: str
    sentence: str


def headline(results: ResultsFolder) -> str:
    """Return how often the most frequent winner has the highest mean, in the tuned comparison if there is one."""
    leads, part = [*_leads(results, tuned=True)], ", all tuned alike"
    if not leads:
        leads, part = [*_leads(results, tuned=False)], ""
    (method, count), *_ = Counter(lead.method for lead in leads).most_common()
    where = f"{count} of {len(leads)} data sets" if len(leads) > 1 else leads[0].dataset
    return f"{method} has the highest {_NAME} on {where}{part}"


def conclusion(results: ResultsFolder) -> list[str]:
    """Return sentences on the comparison with the paper and on the best method of each data set."""
    better = [score for one in results.compare_with_paper() if one.is_better for score in one.scores]
    sentences = []
    if better:
        above = sum(score.difference >= 0 for score in better)
        mean = sum(score.difference for score in better) / len(better)
        sentences.append(
            f"{above} of {len(better)} scores of BoostNE, in the better of two settings, are at least the paper’s; the "
            f"mean difference is {mean:+.4f}."
        )
    sentences += [lead.sentence for tuned in (False, True) for lead in _leads(results, tuned=tuned)]
    return [*sentences, f"All sentences are on the mean {_NAME} over all training ratios; Macro-F1 is in the tables."]


def _leads(results: ResultsFolder, *, tuned: bool) -> Iterator[_Lead]:
    for dataset in results.tuned_datasets if tuned else results.datasets:
        table: Mapping[str, Sequence[Score | TunedScore | None]]
        _, table = results.tuned_table(dataset, _METRIC) if tuned else results.score_table(dataset, _METRIC)
        rows = results.tuned_wilcoxon if tuned else results.wilcoxon
        tests = [row for row in rows if (row["dataset"], row["metric"]) == (dataset, _METRIC)]
        ranking = _ranking(table)
        if ranking:
            sentence = _sentence(f"{dataset}, tuned" if tuned else dataset, ranking, tests)
            yield _Lead(dataset, ranking[0].method, sentence)


def _ranking(table: Mapping[str, Sequence[Score | TunedScore | None]]) -> list[_Ranked]:
    """Return the rows with a score for every ratio, the best first."""
    rows = []
    for name, cells in table.items():
        scores = [cell for cell in cells if cell is not None]
        if len(scores) == len(cells):
            setting = getattr(scores[0], "setting", TUNED)
            # The last column of the tuned comparison is the mean of the others, which does not change the mean.
            rows.append(_Ranked(scores[0].method, setting, name, sum(score.mean for score in scores) / len(scores)))
    return sorted(rows, key=lambda row: -row.mean)


def _sentence(where: str, ranking: Sequence[_Ranked], tests: Sequence[CsvRow]) -> str:
    best, *others = ranking
    text = f"{where}: {best.name} is best with {best.mean:.4f}"
    if others:
        text += f", {best.mean - others[0].mean:.4f} above {others[0].name}{_certainty(best, others[0], tests)}"
    return f"{text}."


def _certainty(best: _Ranked, runner_up: _Ranked, tests: Sequence[CsvRow]) -> str:
    """Return what the tests, which are those of BoostNE against each other method, say about the best one."""
    if best.method == _OURS:
        own = [row for row in tests if row["setting"] == best.setting]
        worse = sum(float(row["p_holm"]) < ALPHA and float(row["effect"]) > 0 for row in own)
        if not own:
            return ""
        if not worse:
            return f", but not significantly better than any of {len(own)} methods"
        return f", and significantly better than {worse} of {len(own)} methods"
    for row in tests:
        if runner_up.method == _OURS and (row["setting"], row["method"]) == (runner_up.setting, best.method):
            p = float(row["p_holm"])
            return f", a {'significant' if p < ALPHA else 'not significant'} difference (p = {p:.2g})"
    return ""
