"""HTML tables: scores by training ratio, and plain tables."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boostne.visualization.html import Markup, element, joined, radio_group

_MINUS = "\N{MINUS SIGN}"
_FULL_COLOR = 0.05  # difference from the paper at which the color saturates
_MAX_OPACITY = 60  # percent, so that the number stays legible


@dataclass(frozen=True)
class ScoreCell:
    """A mean score, its standard deviation and standard error, and the paper's value, if any."""

    mean: float
    std: float
    se: float
    paper: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.paper is None else self.mean - self.paper


@dataclass(frozen=True)
class ScoreRow:
    """The scores of one method: a cell, or None, for each training ratio."""

    name: str
    cells: Sequence[ScoreCell | None]


def score_table(caption: str, train: Sequence[float | str], rows: Sequence[ScoreRow]) -> Markup:
    """Return the table of one metric: a row per method, a column per training ratio in percent, or with another title.

    The best score of each column is bold. The background color shows the difference from the paper's value, if any.
    """
    columns = zip(*(row.cells for row in rows), strict=True)
    best = [max((cell.mean for cell in column if cell), default=None) for column in columns]
    head = element(
        "tr",
        element("th", "training ratio", scope="col"),
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


def plain_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """Return a table with numeric columns right-aligned, with typographic minus signs, and others left-aligned."""
    kinds = [None if all(_is_number(cell) for cell in column) else "text" for column in zip(*rows, strict=True)]
    head = element(
        "tr", *(element("th", text, scope="col", class_=kind) for text, kind in zip(header, kinds, strict=True))
    )
    body = (
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(
                element("td", cell if kind else str(cell).replace("-", _MINUS), class_=kind)
                for cell, kind in zip(row[1:], kinds[1:], strict=True)
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
        [("difference", "difference from the paper"), ("paper", "the paper’s value"), ("se", "standard error")],
    )


def color_legend() -> Markup:
    """Return the legend of the background colors."""
    steps = (-_FULL_COLOR, -_FULL_COLOR / 2, 0.0, _FULL_COLOR / 2, _FULL_COLOR)
    return element(
        "p",
        "ours − paper: ",
        *(element("span", _signed(step, 3) if step else "0", **_background(step)) for step in steps),
        class_="key",
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


def _score(cell: ScoreCell | None, best: float | None) -> Markup:
    if cell is None:
        return element("td", "–")
    difference = cell.difference
    lines = [element("span", f"{cell.mean:.4f}", class_="best" if cell.mean == best else "mean")]
    if difference is not None:
        lines += [
            element("span", _signed(difference), class_="below difference"),
            element("span", f"{cell.paper:.4f}", class_="below paper"),
        ]
    lines.append(element("span", f"± {cell.se:.4f}", class_="below se"))
    title = f"standard deviation {cell.std:.4f}"
    return element("td", *lines, title=title, **({} if difference is None else _background(difference)))


def _background(difference: float) -> dict[str, str]:
    strength = min(abs(difference) / _FULL_COLOR, 1.0) * _MAX_OPACITY
    side = "above" if difference >= 0 else "under"
    return {"class_": side, "style": f"--strength:{strength:.0f}%"}
