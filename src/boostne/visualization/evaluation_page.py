"""The evaluation report: conclusion, scores, comparison and maps of the user's embeddings, and the protocol."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.evaluation import Comparison, Evaluation, compare, conclude
from boostne.evaluation.conclusion import headline
from boostne.labels import Labels
from boostne.progress import Progress, ProgressCallback, silent
from boostne.visualization.charts import Chart, Line
from boostne.visualization.explorer.content import collect_content
from boostne.visualization.explorer.page import pack_embedding
from boostne.visualization.html import Markup, element, joined
from boostne.visualization.html_tables import BEST_NOTE, SE_NOTE, ScoreCell, ScoreRow, plain_table, score_table
from boostne.visualization.page import Page, Section, folded, map_section, write_page
from boostne.visualization.provenance import provenance
from boostne.visualization.svg_charts import chart_figure

MAX_MAP_NODES = 10_000
_WIDE = 20  # ratio of the largest and the smallest training ratio from which on a chart is logarithmic
_SHOWN_ELSEWHERE = ("protocol", "summary", "splits")
_SPLITS_NOTE = "The splits share nodes, so p is too small: consider the difference and the number of splits first."


def write_evaluation_report(
    path: Path,
    embeddings: Mapping[str, Embedding],
    labels: Labels,
    results: Mapping[str, Evaluation],
    progress: ProgressCallback = silent,
) -> None:
    """Write a page with the scores and the maps of one or more embeddings.

    Parameters
    ----------
    path : Path
        The file to write.
    embeddings : mapping from name to Embedding
    labels : Labels
    results : mapping from name to Evaluation
        Results of the same embeddings, on the same splits.
    progress : callable, optional
        Called before each map is computed.

    Examples
    --------
    >>> import boostne, tempfile
    >>> from pathlib import Path
    >>> data = boostne.load_dataset("karate")
    >>> embedding = boostne.BoostNE(8, levels=2).fit(data.graph).embedding_
    >>> result = boostne.evaluate(embedding, data.labels, train=50, repeats=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "report.html")
    ...     write_evaluation_report(page, {"karate": embedding}, data.labels, {"karate": result})
    ...     "Micro-F1" in page.read_text(encoding="utf-8")
    True
    """
    seed = next(iter(results.values())).seed
    maps = {name: embedding_map(name, one, labels, seed, progress) for name, one in embeddings.items()}
    write_page(_page(maps, results), path)


def embedding_map(
    name: str, embedding: Embedding, labels: Labels | None, seed: int, progress: ProgressCallback
) -> dict[str, str]:
    """Return the parts of the explorer that shows an embedding.

    If it has more than `MAX_MAP_NODES` nodes, those with labels are shown, or a random sample of them.
    """
    progress(Progress("map", 0.0, name))
    if len(embedding) <= MAX_MAP_NODES:
        return pack_embedding(collect_content(embedding, labels, title=name), seed, progress)
    rows = np.arange(len(embedding)) if labels is None else _labeled_rows(embedding, labels)
    rows = np.sort(np.random.default_rng(seed).permutation(rows)[:MAX_MAP_NODES])
    shown = Embedding(embedding.nodes[rows], embedding.vectors[rows], embedding.levels)
    note = f"The map shows {len(shown):,} of {len(embedding):,} nodes, and the most similar nodes among these."
    content = replace(collect_content(shown, labels, title=name), notes=[note])
    return pack_embedding(content, seed, progress)


def _labeled_rows(embedding: Embedding, labels: Labels) -> NDArray[np.intp]:
    indicator, _ = labels.align(embedding.nodes)
    return np.flatnonzero(np.diff(indicator.indptr))


def _page(maps: Mapping[str, Mapping[str, str]], results: Mapping[str, Evaluation]) -> Page:
    sections = [
        Section("scores", "Scores", _scores(results)),
        map_section(maps, "embedding"),
        Section("protocol", "Protocol", _protocol(results)),
    ]
    if len(results) == 1:
        ((name, result),) = results.items()
        sentences = [_describe(result, metric) for metric in Evaluation.metrics]
        return Page(f"Evaluation of {name}", sentences[0], sentences[1:], sections, maps)
    comparison = compare(results)
    conclusions = conclude(comparison)
    sections.insert(2, Section("comparison", "Comparison", _comparison(comparison)))
    sentences = [*map(str, conclusions), _SPLITS_NOTE]
    return Page(f"Evaluation of {', '.join(results)}", headline(conclusions), sentences, sections, maps)


def _describe(result: Evaluation, metric: str) -> str:
    """Return the scores with the fewest and with the most training nodes."""
    ends = dict.fromkeys((0, len(result.train) - 1))
    means = " and ".join(f"{result.mean(metric)[i]:.4f} with {result.train[i]:g} %" for i in ends)
    return f"{Evaluation.metrics[metric]} is {means} of the labels"


def _scores(results: Mapping[str, Evaluation]) -> Markup:
    tables = (_table(metric, results) for metric in Evaluation.metrics)
    best = BEST_NOTE if len(results) > 1 else ""
    note = element("p", best, SE_NOTE, "Click a heading to sort.", class_="note")
    charts = (chart_figure(_chart(metric, results), has_files=False) for metric in Evaluation.metrics)
    return joined([note, *tables, element("div", *charts, class_="figures")])


def _table(metric: str, results: Mapping[str, Evaluation]) -> Markup:
    train = next(iter(results.values())).train
    rows = [
        ScoreRow(
            name,
            [
                ScoreCell(float(mean), float(error))
                for mean, error in zip(result.mean(metric), result.standard_error(metric), strict=True)
            ],
        )
        for name, result in results.items()
    ]
    return score_table(f"{Evaluation.metrics[metric]} by training ratio", "embedding", train, rows)


def _chart(metric: str, results: Mapping[str, Evaluation]) -> Chart:
    title = Evaluation.metrics[metric]
    lines = [
        Line(name, list(result.train), result.mean(metric).tolist(), i, error=result.standard_error(metric).tolist())
        for i, (name, result) in enumerate(results.items())
    ]
    train = next(iter(results.values())).train
    wide = train[-1] >= _WIDE * train[0]
    return Chart(metric, f"{title} by training ratio", "training ratio, %", title, lines, log_x=wide)


def _comparison(comparison: Comparison) -> Markup:
    header = ["first", "second", "metric", "wins", "ties", "losses", "difference", "effect", "p", "p (Holm)"]
    rows = [
        [
            test.first,
            test.second,
            Evaluation.metrics[test.metric],
            test.wins,
            test.ties,
            test.losses,
            f"{test.difference:+.4f}",
            f"{test.effect:+.3f}",
            comparison.marked(test.p),
            comparison.marked(test.p_holm),
        ]
        for test in comparison.tests
    ]
    table = plain_table("Wilcoxon signed-rank test of each pair", header, rows)
    return joined([element("p", comparison.to_dict()["protocol"], class_="note"), table])


def _protocol(results: Mapping[str, Evaluation]) -> Markup:
    first = next(iter(results.values())).to_dict()
    shared = {name: value for name, value in first.items() if name not in _SHOWN_ELSEWHERE}
    checksums = {"embedding_sha256": {name: result.embedding_sha256 for name, result in results.items()}}
    return joined(
        [
            element("p", f"{first['protocol']}. Classifier: {first['classifier']}."),
            folded("Parameters, versions and checksums", provenance(shared | checksums)),
        ]
    )
