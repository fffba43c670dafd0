"""``report.html``: the results of a reproduction next to the paper's values."""

from collections.abc import Sequence
from pathlib import Path

from boostne.node_ids import as_ids
from boostne.reproduction.conclusions import conclusion, headline
from boostne.reproduction.csv_tables import METRIC_NAMES, CsvRow
from boostne.reproduction.result_charts import describe_errors, result_charts
from boostne.reproduction.result_tables import ALPHA, choice_table, shortfall_table, wilcoxon_table
from boostne.reproduction.results_folder import ResultsFolder, read_results_folder
from boostne.visualization.explorer.content import match_nodes
from boostne.visualization.explorer.page import pack_positions
from boostne.visualization.html import Markup, element, joined
from boostne.visualization.html_tables import (
    BEST_NOTE,
    SE_NOTE,
    ScoreCell,
    ScoreRow,
    cell_detail_selector,
    plain_table,
    score_table,
)
from boostne.visualization.page import Page, Section, folded, map_section, write_page
from boostne.visualization.provenance import provenance
from boostne.visualization.svg_charts import chart_figure, figure_links

_PAPER = "“Multi-Level Network Embedding with Boosted Low-Rank Matrix Approximation” (Li, Wu and Liu, 2019)"


def write_reproduction_report(folder: Path) -> Path:
    """Write the HTML report of a reproduction.

    Parameters
    ----------
    folder : Path
        Contains ``run.json`` and ``scores.csv`` or ``tuned_scores.csv``; sections whose files are missing are omitted.
        Figures that exist in ``folder/figures`` are linked.

    Returns
    -------
    Path
        ``folder/report.html``.
    """
    results = read_results_folder(folder)
    sections = [
        *(Section(f"scores-{name}", f"Scores on {name}", _scores(results, name)) for name in results.datasets),
        Section("paper", "Compared with the paper", _comparison(results)),
        map_section([one.name for one in results.maps], "data set"),
        Section("levels", "Number of levels", _levels(results, folder / "figures")),
        Section("tuned", "Tuned comparison", _tuned(results)),
        Section("run", "Run", _run(results, folder / "figures")),
    ]
    maps = {
        one.name: pack_positions(match_nodes(as_ids(one.nodes), one.labels, one.name), one.layouts)
        for one in results.maps
    }
    path = folder / "report.html"
    write_page(Page(f"Reproduction of {_PAPER}", headline(results), conclusion(results), sections, maps), path)
    return path


def _comparison(results: ResultsFolder) -> Markup:
    header = [
        "data set", "setting", "scores", "at or above the paper", "mean difference", "lowest", "highest",
    ]  # fmt: skip
    rows = [
        [
            one.dataset,
            f"{one.setting} (better)" if one.is_better else one.setting,
            len(one.differences),
            sum(difference >= 0 for difference in one.differences),
            *(f"{d:+.4f}" for d in (one.mean_difference, min(one.differences), max(one.differences))),
        ]
        for one in results.compare_with_paper()
    ]
    parts = []
    if rows:
        parts.append(plain_table("BoostNE compared with the paper", header, rows))
    if results.shortfalls:
        title = "Scores of the better setting that are below the paper’s by more than their standard error"
        table = plain_table(title, *shortfall_table(results.shortfalls))
        parts.append(folded(f"{title}: {len(results.shortfalls)}", table))
    return joined(parts)


def _scores(results: ResultsFolder, dataset: str) -> Markup:
    parts = _notes_on_scores(results) if dataset == results.datasets[0] else []
    for metric, name in METRIC_NAMES.items():
        train, scores = results.score_table(dataset, metric)
        rows = [
            ScoreRow(title, [ScoreCell(s.mean, s.se, s.paper) if s else None for s in cells])
            for title, cells in scores.items()
        ]
        parts.append(score_table(f"{dataset}: {name} by training ratio", "method", train, rows))
    parts.append(_tests(dataset, results.wilcoxon))
    return joined(parts)


def _notes_on_scores(results: ResultsFolder) -> list[Markup]:
    has_paper = any(score.paper is not None for score in results.scores)
    below = "" if has_paper else SE_NOTE
    note = element("p", BEST_NOTE, below, "Click a heading to sort.", class_="note")
    return [note, cell_detail_selector()] if has_paper else [note]


def _tests(dataset: str, rows: Sequence[CsvRow]) -> Markup:
    tests = [row for row in rows if row["dataset"] == dataset]
    if not tests:
        return Markup()
    title = "Wilcoxon signed-rank test of BoostNE against each method"
    caption = f"{dataset}: {title}; * p < {ALPHA}"
    table = plain_table(caption, *wilcoxon_table(tests, significant="{}*"))
    return folded(title, table)


def _tuned(results: ResultsFolder) -> Markup:
    if not results.tuned_scores:
        return Markup()
    parts = [element("p", results.run["protocol"]["tuned"]), element("p", SE_NOTE, class_="note")]
    for dataset in results.tuned_datasets:
        for metric, name in METRIC_NAMES.items():
            columns, scores = results.tuned_table(dataset, metric)
            rows = [
                ScoreRow(method, [ScoreCell(s.mean, s.se) if s else None for s in cells])
                for method, cells in scores.items()
            ]
            parts.append(score_table(f"{dataset}, tuned: {name} by training ratio", "method", columns, rows))
        choices = [choice for choice in results.tuned_choices if choice.dataset == dataset]
        title = "Most frequent choice, and median C"
        table = plain_table(f"{dataset}: {title}", *choice_table(choices))
        parts += [_tests(dataset, results.tuned_wilcoxon), folded(title, table)]
    return joined(parts)


def _levels(results: ResultsFolder, folder: Path) -> Markup:
    charts = result_charts(results)
    if not charts:
        return Markup()
    figures = [chart_figure(chart, has_files=(folder / f"{chart.name}.svg").is_file()) for chart in charts]
    if not results.errors:
        return element("div", *figures, class_="figures")
    text = element(
        "div",
        element("p", "Relative approximation error for a fixed number of dimensions:"),
        element("ul", *(element("li", line) for line in describe_errors(results.errors))),
    )
    first, *others = figures
    return joined([element("div", first, text, class_="figures"), element("div", *others, class_="figures")])


def _run(results: ResultsFolder, figures: Path) -> Markup:
    links = joined((element("a", name, href=name) for name in results.files), " · ")
    parts = [element("p", "data files: ", links, class_="links")]
    drawn = [one.name for one in results.maps if (figures / f"map-{one.name}.svg").is_file()]
    if drawn:
        maps = joined((joined([name, " ", *figure_links(f"map-{name}")]) for name in drawn), ", ")
        parts.append(element("p", "maps of all levels: ", maps, class_="links"))
    return joined([*parts, folded("Protocol, parameters, versions, checksums and times", provenance(results.run))])
