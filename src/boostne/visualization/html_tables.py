"""HTML tables: scores by training ratio, and plain tables. The page's script makes them sortable."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boostne.visualization.html import Markup, element, joined, radio_group

_MINUS = "\N{MINUS SIGN}"
BEST_NOTE = joined(["The best score of each column is ", element("span", "marked", class_="key"), ". "])
SE_NOTE = "Below each mean over the splits is its standard error. "


@dataclass(frozen=True)
class ScoreCell:
    """A mean score, its standard error, and the paper's value, if any."""

    mean: float
    se: float
    paper: float | None = None


@dataclass(frozen=True)
class ScoreRow:
    """The scores of one method or embedding: a cell, or None, for each training ratio."""

    name: str
    cells: Sequence[ScoreCell | None]


def score_table(caption: str, kind: str, train: Sequence[float | str], rows: Sequence[ScoreRow]) -> Markup:
    """Return the table of one metric: a column per training ratio in percent, or with another title.

    `kind` says what the rows are. The best score of each column is marked, and so are those equal to it to four digits.
    """
    columns = zip(*(row.cells for row in rows), strict=True)
    best = [max((_shown(cell.mean) for cell in column if cell), default=None) for column in columns]
    head = element(
        "tr",
        element("th", kind, scope="col", class_="text"),
        *(element("th", ratio if isinstance(ratio, str) else f"{ratio:g} %", scope="col") for ratio in train),
    )
    body = (
        element(
            "tr",
            element("th", row.name, scope="row"),
            *(_score(cell, top) for cell, top in zip(row.cells, best, strict=True)),
        )
        for row in rows
    )
    return _boxed(caption, head, body, "scores")


def plain_table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[object]], *, best: str | None = None
) -> Markup:
    """Return a table with numeric columns right-aligned, with typographic minus signs, and others left-aligned.

    The largest value of the column `best` is marked.
    """
    kinds = [None if all(_is_number(cell) for cell in column) else "text" for column in zip(*rows, strict=True)]
    kinds[:1] = ["text"]
    head = element(
        "tr", *(element("th", text, scope="col", class_=kind) for text, kind in zip(header, kinds, strict=True))
    )
    marked = None if best is None else header.index(best)
    top = None if marked is None else max(float(str(row[marked])) for row in rows if _is_number(row[marked]))
    body = (
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(
                _plain(cell, kind, is_best=j == marked and _is_number(cell) and float(str(cell)) == top)
                for j, (cell, kind) in enumerate(zip(row[1:], kinds[1:], strict=True), 1)
            ),
        )
        for row in rows
    )
    return _boxed(caption, head, body, "plain")


def _signed(value: float, digits: int = 4) -> str:
    """Format a number with its sign, using a typographic minus.

    Examples
    --------
    >>> _signed(-0.01234), _signed(0.5, 1)
    ('−0.0123', '+0.5')
    """
    return f"{value:+.{digits}f}".replace("-", _MINUS)


def cell_detail_selector() -> Markup:
    """Return the radio buttons that select the number shown below each score."""
    return radio_group(
        "below each score",
        "below",
        [("difference", "difference from the paper"), ("paper", "the paper’s value"), ("se", "± standard error")],
    )


def _is_number(cell: object) -> bool:
    text = str(cell).rstrip("* ")
    try:
        return not text or math.isfinite(float(text))
    except ValueError:
        return False


def _boxed(caption: str, head: Markup, body: Iterable[Markup], kind: str) -> Markup:
    table = element(
        "table", element("caption", caption), element("thead", head), element("tbody", joined(body)), class_=kind
    )
    # A scrollable box must be focusable for keyboard users.
    return element("div", table, class_="box", tabindex="0", role="region", aria_label=caption)


def _shown(score: float) -> str:
    return f"{score:.4f}"


def _score(cell: ScoreCell | None, best: str | None) -> Markup:
    if cell is None:
        return element("td", "–")
    lines = [element("span", _shown(cell.mean))]
    shown_with = "below se"
    if cell.paper is None:
        shown_with = "below difference paper se"  # the standard error, whatever is selected
    else:
        difference = cell.mean - cell.paper
        side = "above" if difference >= 0 else "under"
        lines += [
            element("span", _signed(difference), class_=f"below difference {side}"),
            element("span", _shown(cell.paper), class_="below paper"),
        ]
    lines.append(element("span", f"± {cell.se:.4f}", class_=shown_with))
    return element("td", *lines, data_value=cell.mean, **_mark(is_best=_shown(cell.mean) == best))


def _plain(cell: object, kind: str | None, *, is_best: bool) -> Markup:
    text = cell if kind else str(cell).replace("-", _MINUS)
    return element("td", text, **({"class_": kind} | _mark(is_best=is_best)))


def _mark(*, is_best: bool) -> dict[str, str]:
    return {"class_": "best", "title": "best of this column"} if is_best else {}
