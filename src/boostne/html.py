"""HTML built from Python, and summaries of objects for notebooks.

Text is escaped unless marked as HTML, because node ids and labels are untrusted.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_VOID = frozenset({"br", "hr", "img", "input", "meta"})
_BAR, _GAP, _HEIGHT = 7, 1, 24  # pixels
_LEFT = "text-align:left"


class Markup(str):
    """A string that is already HTML."""

    __slots__ = ()


def element(tag: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an HTML element.

    Parameters
    ----------
    tag : str
    *children
        :class:`Markup` is inserted unchanged; anything else is escaped.
    **attributes
        ``class_`` stands for ``class``, and ``_`` for ``-``. True gives an attribute without a value; None and
        False omit it.

    Examples
    --------
    >>> element("p", "1 < 2, ", element("b", "says Ann"), class_="note")
    '<p class="note">1 &lt; 2, <b>says Ann</b></p>'
    """
    words = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    start = f"<{tag}{words}>"
    return Markup(start if tag in _VOID else f"{start}{joined(children)}</{tag}>")


def joined(children: Any, separator: str = "") -> Markup:
    """Concatenate children, escaped as in :func:`element`."""
    return Markup(separator.join(child if isinstance(child, Markup) else escape(str(child)) for child in children))


def summary(title: str, facts: Mapping[str, Any], *more: Markup) -> Markup:
    """Return a box with a title, a table of names and values, and further parts below it."""
    rows = (
        element("tr", element("th", name, style=_LEFT), element("td", value, style=_LEFT))
        for name, value in facts.items()
    )
    return element("div", element("strong", title), element("table", element("tbody", *rows)), *more)


def small_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """Return a plain table; the first column is aligned to the left."""

    def cells(tag: str, row: Sequence[Any]) -> Markup:
        return element("tr", *(element(tag, cell, style=None if j else _LEFT) for j, cell in enumerate(row)))

    head = element("thead", cells("th", header))
    return element("table", head, element("tbody", *(cells("td", row) for row in rows)))


def sparkline(values: Sequence[float], title: str, *, from_zero: bool = True) -> Markup:
    """Return bars as an inline SVG that has the color of the text, with a caption beside it; nothing for one value.

    Parameters
    ----------
    values : sequence of float
        Finite; bars of negative values are empty.
    title : str
        The caption.
    from_zero : bool, default True
        Whether the height is proportional to the value. Otherwise the lowest value has a quarter of the full height.
    """
    if len(values) in (0, 1):
        return Markup()
    numbers = [max(float(value), 0.0) for value in values]
    low, top = min(numbers), max(numbers)
    bottom = 0.0 if from_zero or low == top else low - (top - low) / 3
    heights = [_HEIGHT * (value - bottom) / (top - bottom) if top > bottom else 0.0 for value in numbers]
    bars = (
        element("rect", x=i * (_BAR + _GAP), y=f"{_HEIGHT - height:.1f}", width=_BAR, height=f"{height:.1f}")
        for i, height in enumerate(heights)
    )
    size = {"width": len(numbers) * (_BAR + _GAP), "height": _HEIGHT}
    chart = element("svg", *bars, role="img", aria_label=title, fill="currentColor", opacity=0.6, **size)
    return element("div", chart, " ", element("small", title))


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
