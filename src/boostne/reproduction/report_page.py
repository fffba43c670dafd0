"""The report of a reproduction: the paper's tables and figures, with our numbers beside its own."""

from collections.abc import Sequence
from pathlib import Path

from boostne.reproduction.result_charts import approximation_chart, approximation_in_words, level_charts
from boostne.reproduction.results_folder import Reproduction, Row, Score, read_reproduction
from boostne.visualization.charts import Chart, figure, print_links
from boostne.visualization.extras import require_extras
from boostne.visualization.maps import map_explorer
from boostne.visualization.markup import Markup, element, joined
from boostne.visualization.page import Page, Section, write_page
from boostne.visualization.prints import print_chart, print_map
from boostne.visualization.provenance import provenance
from boostne.visualization.tables import (
    METRICS,
    Cell,
    ScoreRow,
    below_choice,
    color_key,
    plain_table,
    score_table,
    signed,
)

_BOOSTED = "BoostNE"


def write_reproduction_report(folder: Path) -> Path:
    """Make the page, and the figures for print, from what a reproduction wrote.

    Parameters
    ----------
    folder : Path
        With ``scores.csv`` and ``run.json``; the parts whose files are missing are left out.

    Returns
    -------
    Path
        ``folder/report.html``. The figures are in ``folder/figures``.
    """
    require_extras()
    found = read_reproduction(folder)
    charts = charts_of(found)
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for chart in charts:
        print_chart(chart, figures)
    for one in found.maps:
        print_map(one, figures / f"map-{one.name}")
    page = folder / "report.html"
    write_page(_page(found, charts), page)
    return page


def charts_of(found: Reproduction) -> list[Chart]:
    """Return the curves: the error of the approximation, and F1 against the number of levels."""
    return [*([approximation_chart(found.errors)] if found.errors else []), *level_charts(found.levels)]


def _page(found: Reproduction, charts: Sequence[Chart]) -> Page:
    lead = element(
        "p",
        "Multi-Level Network Embedding with Boosted Low-Rank Matrix Approximation (Li, Wu and Liu, 2019): "
        "its tables and figures computed again, each number beside the paper’s.",
    )
    sections = [
        Section("summary", "At a glance", _summary(found)),
        *(Section(f"scores-{name}", f"Scores on {name}", _scores(found, name)) for name in found.datasets),
        Section("levels", "Levels", _levels(found, charts)),
        Section("maps", "Maps", _maps(found)),
        Section("run", "What was run", _run(found)),
    ]
    data = {
        "charts": {chart.name: chart.to_dict() for chart in charts},
        "maps": [one.to_dict() for one in found.maps],
    }
    return Page("BoostNE reproduced", lead, [section for section in sections if section.body], data)


def _summary(found: Reproduction) -> Markup:
    rows = [
        [dataset, _title(_BOOSTED, setting), *_against_paper(cells)]
        for dataset in found.datasets
        for setting in dict.fromkeys(s.setting for s in found.scores if s.method == _BOOSTED)
        if (cells := [s for s in found.scores if _is(s, dataset, _BOOSTED, setting) and s.paper is not None])
    ]
    heads = ["data set", "setting", "cells", "at or above the paper", "mean difference", "least", "greatest"]
    parts = []
    if rows:
        parts.append(plain_table("BoostNE against the paper’s own values", heads, rows))
    if found.shortfalls:
        title = "Under the paper by more than a standard error, in the better setting"
        noun = "cell" if len(found.shortfalls) == 1 else "cells"
        count = element("summary", f"{title}: {len(found.shortfalls)} {noun}")
        parts.append(element("details", count, _as_they_stand(title, found.shortfalls)))
    return joined(parts)


def _against_paper(scores: Sequence[Score]) -> list[str]:
    differences = [score.mean - score.paper for score in scores if score.paper is not None]
    mean = sum(differences) / len(differences)
    reached = sum(difference >= 0 for difference in differences)
    return [
        str(len(differences)),
        str(reached),
        *(signed(value) for value in (mean, min(differences), max(differences))),
    ]


def _scores(found: Reproduction, dataset: str) -> Markup:
    scores = [score for score in found.scores if score.dataset == dataset]
    first = dataset == found.datasets[0]
    intro = [below_choice(), color_key()] if first else []
    tables = [_table(dataset, metric, [s for s in scores if s.metric == metric]) for metric in METRICS]
    tests = [
        {name: cell for name, cell in row.items() if name != "dataset"}
        for row in found.wilcoxon
        if row["dataset"] == dataset
    ]
    if tests:
        tables.append(
            element(
                "details",
                element("summary", "Wilcoxon’s signed-rank test: BoostNE against each method"),
                _as_they_stand(f"{dataset}: Wilcoxon’s test", tests),
            )
        )
    return joined([*intro, *tables])


def _table(dataset: str, metric: str, scores: Sequence[Score]) -> Markup:
    train = sorted({score.train for score in scores})
    cells = {(s.method, s.setting, s.train): Cell(s.mean, s.std, s.se, s.paper) for s in scores}
    rows = [
        ScoreRow(_title(method, setting), [cells.get((method, setting, ratio)) for ratio in train])
        for method, setting in dict.fromkeys((score.method, score.setting) for score in scores)
    ]
    return score_table(f"{dataset}: {METRICS[metric]} by share of training nodes", train, rows)


def _levels(found: Reproduction, charts: Sequence[Chart]) -> Markup:
    if not charts:
        return Markup()
    figures = [figure(chart, printed=True) for chart in charts]
    if not found.errors:
        return element("div", *figures, class_="figures")
    words = element(
        "div",
        element("p", "The relative error of the approximation, at the same dimensions whatever k:"),
        element("ul", *(element("li", line) for line in approximation_in_words(found.errors))),
    )
    first, *others = figures
    return joined([element("div", first, words, class_="figures"), element("div", *others, class_="figures")])


def _maps(found: Reproduction) -> Markup:
    if not found.maps:
        return Markup()
    prints = (joined([one.name, " ", *print_links(f"map-{one.name}")]) for one in found.maps)
    return joined(
        [
            element(
                "p",
                "Each dot is a node, placed by its vectors alone (t-SNE); its color is its label, the most common "
                "one where it has several. Level 1 is the coarsest. Choose a label below the map to see it alone.",
            ),
            map_explorer(found.maps, "data set"),
            element("p", "all levels for print: ", joined(prints, ", "), class_="links"),
        ]
    )


def _run(found: Reproduction) -> Markup:
    links = joined((element("a", name, href=name) for name in found.files), " · ")
    return joined([provenance(found.run), element("p", "The numbers: ", links, class_="links")])


def _as_they_stand(caption: str, rows: Sequence[Row]) -> Markup:
    """Return the rows of a file as a table."""
    heads = [name.replace("_", " ") for name in rows[0]]
    return plain_table(caption, heads, [[METRICS.get(cell, cell) for cell in row.values()] for row in rows])


def _title(method: str, setting: str) -> str:
    return f"{method}, {setting} setting" if setting else method


def _is(score: Score, dataset: str, method: str, setting: str) -> bool:
    return (score.dataset, score.method, score.setting) == (dataset, method, setting)
