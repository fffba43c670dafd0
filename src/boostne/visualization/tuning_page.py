"""The tuning report: whether another setting than the default is better, a table of all trials, and a map."""

from pathlib import Path

from boostne.labels import Labels
from boostne.progress import ProgressCallback, silent
from boostne.refinement.tuning_result import TABLE_HEADS, TuningResult
from boostne.visualization.evaluation_page import embedding_map
from boostne.visualization.html import Markup, element, joined
from boostne.visualization.html_tables import plain_table
from boostne.visualization.page import Page, Section, folded, map_section, write_page
from boostne.visualization.provenance import provenance

_TOP = 20
_IN_TABLES = ("trials", "best", "default")
_RUNGS_NOTE = "Scores of different rungs do not compare."


def write_tuning_report(
    path: Path, name: str, result: TuningResult, labels: Labels | None = None, progress: ProgressCallback = silent
) -> None:
    """Write a page with the best setting, all trials, and a map of the embedding unless the search was interrupted.

    Parameters
    ----------
    path : Path
        The file to write.
    name : str
        Name of the graph, for the title.
    result : TuningResult
    labels : Labels, optional
        Color the nodes of the map.
    progress : callable, optional
        Called before each part of the map is computed.

    Examples
    --------
    >>> import boostne, tempfile
    >>> from pathlib import Path
    >>> data = boostne.load_dataset("karate")
    >>> result = boostne.tune(data.graph, data.labels, space={"window": [1, 2]}, budget=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "trials.html")
    ...     write_tuning_report(page, "karate", result, data.labels)
    ...     "All trials" in page.read_text(encoding="utf-8")
    True
    """
    maps = {name: embedding_map(name, result.embedding, labels, 0, progress)} if result.complete else {}
    facts = {key: value for key, value in result.to_dict().items() if key not in _IN_TABLES}
    sections = [
        Section("best", "Best trials", _best_trials(result)),
        map_section(maps, "graph"),
        Section("trials", "All trials", _all_trials(result)),
        Section("setting", "Setting", folded("All parameters of the winner", provenance(facts))),
    ]
    write_page(Page(f"Tuning of {name}", _headline(result), _conclusion(result), sections, maps), path)


def _headline(result: TuningResult) -> str:
    if not result.complete:
        return "The search was interrupted: this is the best setting so far"
    if _is_default(result):
        return "No setting is clearly better than the default, which is kept"
    return f"Another setting than the default is better by {result.best.score - result.default.score:.4f}"


def _conclusion(result: TuningResult) -> list[str]:
    best, default = result.best, result.default
    sentences = [
        f"Setting: {result.describe()}.",
        f"{_sentence_case(result.criterion)}: {best.score:.4f}, with the default setting {default.score:.4f}.",
    ]
    if result.complete and _is_default(result):
        sentences.append("No other setting scored higher by more than two standard errors of the difference.")
    elif result.complete:
        sentences.append("The difference is more than two standard errors.")
    if result.level_weights is not None:
        weights = ", ".join(f"{weight:.2f}" for weight in result.level_weights)
        sentences.append(f"The levels are multiplied by learned weights: {weights}.")
    sentences.append(
        "The score of the best of many settings is slightly optimistic: keep some labels or edges for a test."
    )
    return sentences


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_default(result: TuningResult) -> bool:
    names = ("window", "approximation", "negative", "propagation", "vector_length")
    return all(getattr(result.best, name) == getattr(result.default, name) for name in names)


def _best_trials(result: TuningResult) -> Markup:
    caption = f"Best trials of the last rung; score: {result.criterion}"
    table = plain_table(caption, TABLE_HEADS, result.rows(_TOP), best="score")
    return joined([element("p", "Click a heading to sort.", class_="note"), table])


def _all_trials(result: TuningResult) -> Markup:
    count = f"{len(result.trials)} trials, at the cost of {result.spent:g} full fits"
    table = plain_table("All trials in order", TABLE_HEADS, result.rows())
    return joined([element("p", _RUNGS_NOTE, class_="note"), folded(count, table)])
