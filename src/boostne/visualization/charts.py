"""Line charts as data, drawn as SVG inside of pages and by matplotlib in files."""

from collections.abc import Sequence
from dataclasses import dataclass


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
        Standard errors, drawn as bars of twice this length.
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
        Used in file names: letters, digits and hyphens.
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

    @property
    def subtitle(self) -> str:
        """What the error bars are, if there are any."""
        return "mean ± standard error" if any(line.error is not None for line in self.lines) else ""
