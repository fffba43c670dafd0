"""Line charts as data, rendered by the page's script (Plotly) and by matplotlib."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from boostne.visualization.html import Markup, element
from boostne.visualization.palette import MARKERS


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes
    ----------
    name : str
    x, y : sequence of float
    style : int
        Index of its color and marker.
    error : sequence of float, optional
        Half lengths of the error bars.
    reference : bool
        Whether it is a reference value, drawn dashed and without markers.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: int
    error: Sequence[float] | None = None
    reference: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over common axes.

    Attributes
    ----------
    name : str
        Used in file names and page anchors: letters, digits and hyphens.
    title, x_label, y_label : str
    lines : sequence of Line
    log_x : bool
        Whether the x-axis is logarithmic (base 2); either way it has a tick at each x.
    from_zero : bool
        Whether the y-axis starts at 0.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    from_zero: bool = False

    @property
    def ticks(self) -> list[float]:
        """All distinct x values."""
        return sorted({x for line in self.lines for x in line.x})

    def to_dict(self) -> dict[str, Any]:
        """Return the chart in the form that the page's script reads."""
        chart = asdict(self) | {"ticks": self.ticks}
        for line in chart["lines"]:
            line["symbol"] = MARKERS[line["style"] % len(MARKERS)].plotly
        return chart


def chart_figure(chart: Chart, *, has_files: bool) -> Markup:
    """Return the figure element of a chart, with links to its SVG and PNG files if there are any."""
    links = element("p", "download: ", *figure_links(chart.name), class_="links") if has_files else ""
    return element(
        "figure",
        element("figcaption", chart.title),
        element("div", class_="plot", data_chart=chart.name, role="img", aria_label=chart.title),
        links,
    )


def figure_links(name: str) -> list[Markup | str]:
    """Return links to the SVG and PNG files of a figure."""
    svg, png = (element("a", kind.upper(), href=f"figures/{name}.{kind}") for kind in ("svg", "png"))
    return [svg, " · ", png]
