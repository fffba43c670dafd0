"""The report of a user's own embeddings: their scores, their maps, and how they were scored."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from boostne.embedding import Embedding
from boostne.evaluation import Comparison, Evaluation, compare
from boostne.labels import Labels
from boostne.progress import Progress, ProgressCallback, silent
from boostne.visualization.charts import Chart, Line, figure
from boostne.visualization.extras import require_extras
from boostne.visualization.layout import level_maps
from boostne.visualization.maps import LevelMap, map_explorer
from boostne.visualization.markup import Markup, element, joined
from boostne.visualization.page import Page, Section, write_page
from boostne.visualization.provenance import provenance
from boostne.visualization.tables import Cell, ScoreRow, plain_table, score_table, signed

MAP_NODES = 2000
_PAIR = 2


def write_evaluation_report(
    path: Path,
    embeddings: Mapping[str, Embedding],
    labels: Labels,
    results: Mapping[str, Evaluation],
    progress: ProgressCallback = silent,
) -> None:
    """Write a page with the scores and the maps of embeddings.

    Parameters
    ----------
    path : Path
        The file to write.
    embeddings : mapping from name to Embedding
    labels : Labels
    results : mapping from name to Evaluation
        Of the same embeddings, on the same splits.
    progress : callable, optional
        Told which map is drawn.
    """
    require_extras()
    maps = []
    for i, (name, embedding) in enumerate(embeddings.items()):
        progress(Progress("maps", i / len(embeddings), name))
        maps.append(embedding_map(name, embedding, labels, next(iter(results.values())).seed))
    write_page(_page(maps, results), path)


def embedding_map(name: str, embedding: Embedding, labels: Labels, seed: int) -> LevelMap:
    """Lay out the labeled nodes, or a random sample where there are many, level by level."""
    indicator, _ = labels.align(embedding.nodes)
    labeled = np.flatnonzero(np.diff(indicator.indptr))
    rows = np.sort(np.random.default_rng(seed).permutation(labeled)[:MAP_NODES])
    carried = (indicator.indices[slice(*indicator.indptr[row : row + 2])] for row in rows)
    return LevelMap(
        name=name,
        nodes=[str(node) for node in embedding.nodes[rows].tolist()],
        labels=[[str(label) for label in labels.classes[columns].tolist()] for columns in carried],
        places=level_maps(embedding, rows, seed),
    )


def _page(maps: list[LevelMap], results: Mapping[str, Evaluation]) -> Page:
    charts = [_chart(metric, results) for metric in Evaluation.metrics]
    sections = [
        Section("scores", "Scores", _scores(charts, results)),
        Section("maps", "Maps", _maps(maps)),
        Section("protocol", "How it was scored", _protocol(results)),
    ]
    if len(results) >= _PAIR:
        sections.insert(1, Section("comparison", "Comparison", _comparison(compare(results))))
    data = {
        "charts": {chart.name: chart.to_dict() for chart in charts},
        "maps": [one.to_dict() for one in maps],
    }
    lead = element("p", next(iter(results.values())).to_dict()["protocol"])
    return Page(f"Scores of {', '.join(results)}", lead, sections, data)


def _scores(charts: list[Chart], results: Mapping[str, Evaluation]) -> Markup:
    tables = (_table(metric, results) for metric in Evaluation.metrics)
    note = element("p", "Below each mean stands its standard error over the splits.", class_="note")
    return joined(
        [note, *tables, element("div", *(figure(c, printed=False) for c in charts), class_="figures")]
    )


def _table(metric: str, results: Mapping[str, Evaluation]) -> Markup:
    train = next(iter(results.values())).train
    rows = [
        ScoreRow(
            name,
            [
                Cell(float(mean), float(std), float(std) / math.sqrt(result.repeats))
                for mean, std in zip(result.mean(metric), result.std(metric), strict=True)
            ],
        )
        for name, result in results.items()
    ]
    return score_table(f"{Evaluation.metrics[metric]} by share of training nodes", train, rows)


def _chart(metric: str, results: Mapping[str, Evaluation]) -> Chart:
    title = Evaluation.metrics[metric]
    lines = [
        Line(name, list(result.train), result.mean(metric).tolist(), i, error=result.std(metric).tolist())
        for i, (name, result) in enumerate(results.items())
    ]
    return Chart(metric, f"{title}, with its standard deviation", "training nodes, %", title, lines)


def _comparison(found: Comparison) -> Markup:
    heads = ["first", "second", "metric", "wins", "ties", "losses", "difference", "effect", "p", "p (Holm)"]
    rows = [
        [
            test.first,
            test.second,
            Evaluation.metrics[test.metric],
            test.wins,
            test.ties,
            test.losses,
            signed(test.difference),
            signed(test.effect, 3),
            found.marked(test.p),
            found.marked(test.p_holm),
        ]
        for test in found.tests
    ]
    table = plain_table("Wilcoxon’s signed-rank test, every pair", heads, rows)
    return joined([element("p", found.to_dict()["protocol"]), table])


def _maps(maps: list[LevelMap]) -> Markup:
    text = (
        "Each dot is a labeled node, placed by its vectors alone (t-SNE); its color is its label, the most common "
        f"one where it has several. Of more than {MAP_NODES:,} nodes a random sample is shown. Level 1 is the "
        "coarsest. Choose a label below the map to see it alone."
    )
    return joined([element("p", text), map_explorer(maps, "embedding")])


def _protocol(results: Mapping[str, Evaluation]) -> Markup:
    first = next(iter(results.values())).to_dict()
    shared = {name: value for name, value in first.items() if name not in _SHOWN_ELSEWHERE}
    return provenance(
        shared | {"embedding_sha256": {name: result.embedding_sha256 for name, result in results.items()}}
    )


_SHOWN_ELSEWHERE = ("protocol", "summary", "splits")
