"""The tuning report: the best setting, and a table of all trials."""

from pathlib import Path

from boostne.refinement.tuning_result import TABLE_HEADS, TuningResult
from boostne.visualization.extras import require_extras
from boostne.visualization.html import element
from boostne.visualization.html_tables import plain_table
from boostne.visualization.page import Page, Section, write_page
from boostne.visualization.provenance import provenance

_TOP = 20
_IN_TABLES = ("trials", "best", "default")


def write_tuning_report(path: Path, name: str, result: TuningResult) -> None:
    """Write a page with the best setting and all trials.

    Parameters
    ----------
    path : Path
        The file to write.
    name : str
        Name of the graph, for the title.
    result : TuningResult
    """
    require_extras()
    facts = {key: value for key, value in result.to_dict().items() if key not in _IN_TABLES}
    best = plain_table(f"Best trials of the last rung; score: {result.criterion}", TABLE_HEADS, result.rows(_TOP))
    trials = plain_table("All trials in order; scores of different rungs do not compare", TABLE_HEADS, result.rows())
    lead = f"Score of the best setting: {result.best.score:.4f}; of the default setting: {result.default.score:.4f}."
    sections = [
        Section("setting", "Best setting", provenance(facts)),
        Section("best", "Best trials", best),
        Section("trials", "All trials", trials),
    ]
    write_page(Page(f"Tuning of {name}", element("p", lead), sections, charts=[], maps=[]), path)
