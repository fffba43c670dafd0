"""``report.html``: the results of a reproduction next to the paper's values."""

from collections.abc import Sequence
from pathlib import Path

from boostne.reproduction.csv_tables import METRIC_NAMES, CsvRow
from boostne.reproduction.result_charts import describe_errors, result_charts
from boostne.reproduction.result_tables import ALPHA, choice_table, shortfall_table, wilcoxon_table
from boostne.reproduction.results_folder import ResultsFolder, read_results_folder
from boostne.visualization.charts import Chart, chart_figure, figure_links
from boostne.visualization.extras import require_extras
from boostne.visualization.html import Markup, element, joined
from boostne.visualization.html_tables import (
    ScoreCell,
    ScoreRow,
    cell_detail_selector,
    color_legend,
    plain_table,
    score_table,
)
from boostne.visualization.level_map import map_explorer
from boostne.visualization.matplotlib_figures import save_chart, save_level_map
from boostne.visualization.page import Page, Section, write_page
from boostne.visualization.provenance import provenance


def write_reproduction_report(folder: Path) -> Path:
    """Write the HTML report and the static figures of a reproduction.

    Parameters
    ----------
    folder : Path
        Contains ``run.json`` and ``scores.csv`` or ``tuned_scores.csv``; sections whose files are missing are omitted.

    Returns
    -------
    Path
        ``folder/report.html``. The figures are in ``folder/figures``.
    """
    require_extras()
    results = read_results_folder(folder)
    charts = result_charts(results)
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for chart in charts:
        save_chart(chart, figures)
    for level_map in results.maps:
        save_level_map(level_map, figures)
    path = folder / "report.html"
    write_page(_page(results, charts), path)
    return path


def _page(results: ResultsFolder, charts: Sequence[Chart]) -> Page:
    lead = element(
        "p",
        "The tables and figures of “Multi-Level Network Embedding with Boosted Low-Rank Matrix Approximation” "
        "(Li, Wu and Liu, 2019), recomputed and compared with the paper’s values.",
    )
    sections = [
        Section("summary", "Summary", _summary(results)),
        *(Section(f"scores-{name}", f"Scores on {name}", _scores(results, name)) for name in results.datasets),
        Section("levels", "Number of levels", _levels(results, charts)),
        Section("maps", "Maps", _maps(results)),
        Section("tuned", "Tuned comparison", _tuned(results)),
        Section("run", "Run", _run(results)),
    ]
    shown = [section for section in sections if section.body]
    return Page("Reproduction of the BoostNE paper", lead, shown, charts, results.maps)


def _summary(results: ResultsFolder) -> Markup:
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
        count = element("summary", f"{title}: {len(results.shortfalls)}")
        parts.append(element("details", count, plain_table(title, *shortfall_table(results.shortfalls))))
    return joined(parts)


def _scores(results: ResultsFolder, dataset: str) -> Markup:
    first = dataset == results.datasets[0]
    parts = [cell_detail_selector(), color_legend()] if first else []
    for metric, name in METRIC_NAMES.items():
        train, scores = results.score_table(dataset, metric)
        rows = [
            ScoreRow(title, [ScoreCell(s.mean, s.std, s.se, s.paper) if s else None for s in cells])
            for title, cells in scores.items()
        ]
        parts.append(score_table(f"{dataset}: {name} by training ratio", train, rows))
    parts.append(_tests(dataset, results.wilcoxon))
    return joined(parts)


def _tests(dataset: str, rows: Sequence[CsvRow]) -> Markup:
    tests = [row for row in rows if row["dataset"] == dataset]
    if not tests:
        return Markup()
    title = "Wilcoxon signed-rank test of BoostNE against each method"
    caption = f"{dataset}: {title}; * p < {ALPHA}"
    table = plain_table(caption, *wilcoxon_table(tests, significant="{}*"))
    return element("details", element("summary", title), table)


def _tuned(results: ResultsFolder) -> Markup:
    if not results.tuned_scores:
        return Markup()
    parts = [element("p", results.run["protocol"]["tuned"])]
    for dataset in results.tuned_datasets:
        for metric, name in METRIC_NAMES.items():
            columns, scores = results.tuned_table(dataset, metric)
            rows = [
                ScoreRow(method, [ScoreCell(s.mean, s.std, s.se) if s else None for s in cells])
                for method, cells in scores.items()
            ]
            parts.append(score_table(f"{dataset}, tuned: {name} by training ratio", columns, rows))
        choices = [choice for choice in results.tuned_choices if choice.dataset == dataset]
        title = "Most frequent choice, and median C"
        table = plain_table(f"{dataset}: {title}", *choice_table(choices))
        parts += [_tests(dataset, results.tuned_wilcoxon), element("details", element("summary", title), table)]
    return joined(parts)


def _levels(results: ResultsFolder, charts: Sequence[Chart]) -> Markup:
    if not charts:
        return Markup()
    figures = [chart_figure(chart, has_files=True) for chart in charts]
    if not results.errors:
        return element("div", *figures, class_="figures")
    text = element(
        "div",
        element("p", "Relative approximation error for a fixed number of dimensions:"),
        element("ul", *(element("li", line) for line in describe_errors(results.errors))),
    )
    first, *others = figures
    return joined([element("div", first, text, class_="figures"), element("div", *others, class_="figures")])


def _maps(results: ResultsFolder) -> Markup:
    if not results.maps:
        return Markup()
    links = (joined([one.name, " ", *figure_links(f"map-{one.name}")]) for one in results.maps)
    return joined(
        [
            map_explorer(results.maps, "data set"),
            element("p", "download all levels: ", joined(links, ", "), class_="links"),
        ]
    )


def _run(results: ResultsFolder) -> Markup:
    links = joined((element("a", name, href=name) for name in results.files), " · ")
    return joined([provenance(results.run), element("p", "data files: ", links, class_="links")])
