"""Line charts as data, for the page's script and for matplotlib alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from boostne.visualization.markup import Markup, element
from boostne.visualization.palette import MARKS


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes
    ----------
    name : str
    x, y : sequence of float
    look : int
        Number of its color and of its mark.
    error : sequence of float, optional
        Half the length of the error bars.
    level : bool
        A dashed line without marks: a value to compare with.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    look: int
    error: Sequence[float] | None = None
    level: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over the same axes.

    Attributes
    ----------
    name : str
        For files and the page's anchors: letters, digits and hyphens.
    title, x_label, y_label : str
    lines : sequence of Line
    doubling : bool
        The x-axis is logarithmic with a tick at each x, as suits 1, 2, 4, …
    from_zero : bool
        The y-axis begins at 0.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    doubling: bool = False
    from_zero: bool = False

    @property
    def ticks(self) -> list[float]:
        """Every x that occurs."""
        return sorted({x for line in self.lines for x in line.x})

    def to_dict(self) -> dict[str, Any]:
        """Return the chart as the page's script reads it."""
        found = asdict(self) | {"ticks": self.ticks}
        for line in found["lines"]:
            line["symbol"] = MARKS[line["look"] % len(MARKS)].plotly
        return found


def figure(chart: Chart, *, printed: bool) -> Markup:
    """Return the place of a chart on the page, with links to its print versions where there are any."""
    links = element("p", "for print: ", *print_links(chart.name), class_="links") if printed else ""
    return element(
        "figure",
        element("figcaption", chart.title),
        element("div", class_="plot", data_chart=chart.name, role="img", aria_label=chart.title),
        links,
    )


def print_links(name: str) -> list[Markup | str]:
    """Return links to the print versions of a figure."""
    svg, png = (element("a", kind.upper(), href=f"figures/{name}.{kind}") for kind in ("svg", "png"))
    return [svg, " · ", png]
