"""The evaluation report: scores, comparison and maps of the user's embeddings, and the protocol."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from boostne.embedding import Embedding
from boostne.evaluation import Comparison, Evaluation, compare
from boostne.labels import Labels
from boostne.progress import Progress, ProgressCallback, silent
from boostne.visualization.charts import Chart, Line, chart_figure
from boostne.visualization.extras import require_extras
from boostne.visualization.html import Markup, element, joined
from boostne.visualization.html_tables import ScoreCell, ScoreRow, plain_table, score_table
from boostne.visualization.layout import level_maps
from boostne.visualization.level_map import LevelMap, map_explorer
from boostne.visualization.page import Page, Section, write_page
from boostne.visualization.provenance import provenance

MAX_MAP_NODES = 2000


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
    """
    require_extras()
    maps = []
    for i, (name, embedding) in enumerate(embeddings.items()):
        progress(Progress("maps", i / len(embeddings), name))
        maps.append(embedding_map(name, embedding, labels, next(iter(results.values())).seed))
    write_page(_page(maps, results), path)


def embedding_map(name: str, embedding: Embedding, labels: Labels, seed: int) -> LevelMap:
    """Lay out the labeled nodes, or a random sample of at most `MAX_MAP_NODES`, for each level."""
    indicator, _ = labels.align(embedding.nodes)
    labeled = np.flatnonzero(np.diff(indicator.indptr))
    rows = np.sort(np.random.default_rng(seed).permutation(labeled)[:MAX_MAP_NODES])
    columns_of_rows = (indicator.indices[slice(*indicator.indptr[row : row + 2])] for row in rows)
    return LevelMap(
        name=name,
        nodes=[str(node) for node in embedding.nodes[rows].tolist()],
        labels=[[str(label) for label in labels.classes[columns].tolist()] for columns in columns_of_rows],
        positions=level_maps(embedding, rows, seed),
    )


def _page(maps: list[LevelMap], results: Mapping[str, Evaluation]) -> Page:
    charts = [_chart(metric, results) for metric in Evaluation.metrics]
    sections = [
        Section("scores", "Scores", _scores(charts, results)),
        Section("maps", "Maps", _maps(maps)),
        Section("protocol", "Protocol", _protocol(results)),
    ]
    if len(results) > 1:
        sections.insert(1, Section("comparison", "Comparison", _comparison(compare(results))))
    lead = element("p", next(iter(results.values())).to_dict()["protocol"])
    return Page(f"Evaluation of {', '.join(results)}", lead, sections, charts, maps)


def _scores(charts: list[Chart], results: Mapping[str, Evaluation]) -> Markup:
    tables = (_table(metric, results) for metric in Evaluation.metrics)
    note = element("p", "Mean over the splits; the standard error is below each mean.", class_="note")
    figures = element("div", *(chart_figure(chart, has_files=False) for chart in charts), class_="figures")
    return joined([note, *tables, figures])


def _table(metric: str, results: Mapping[str, Evaluation]) -> Markup:
    train = next(iter(results.values())).train
    rows = [
        ScoreRow(
            name,
            [
                ScoreCell(float(mean), float(std), float(std) / math.sqrt(result.repeats))
                for mean, std in zip(result.mean(metric), result.std(metric), strict=True)
            ],
        )
        for name, result in results.items()
    ]
    return score_table(f"{Evaluation.metrics[metric]} by training ratio", train, rows)


def _chart(metric: str, results: Mapping[str, Evaluation]) -> Chart:
    title = Evaluation.metrics[metric]
    lines = [
        Line(name, list(result.train), result.mean(metric).tolist(), i, error=result.std(metric).tolist())
        for i, (name, result) in enumerate(results.items())
    ]
    return Chart(metric, f"{title}, mean ± standard deviation", "training ratio, %", title, lines)


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
    return joined([element("p", comparison.to_dict()["protocol"]), table])


def _maps(maps: list[LevelMap]) -> Markup:
    text = f"Each map shows the labeled nodes, or a random sample of {MAX_MAP_NODES:,} if there are more."
    return joined([element("p", text), map_explorer(maps, "embedding")])


def _protocol(results: Mapping[str, Evaluation]) -> Markup:
    first = next(iter(results.values())).to_dict()
    shared = {name: value for name, value in first.items() if name not in _SHOWN_ELSEWHERE}
    return provenance(
        shared | {"embedding_sha256": {name: result.embedding_sha256 for name, result in results.items()}}
    )


_SHOWN_ELSEWHERE = ("protocol", "summary", "splits")
