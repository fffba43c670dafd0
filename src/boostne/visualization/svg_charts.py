"""Line charts as SVG elements of a page; their colors are CSS variables, so that they follow the color scheme."""

import math
from collections.abc import Callable, Iterator, Sequence

from boostne.visualization.charts import Chart, Line
from boostne.visualization.html import Markup, element, joined
from boostne.visualization.palette import LIGHT, MARKERS

_WIDTH, _HEIGHT = 480, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 16, 12, 44  # margins; at the left for numbers of 14 pixels and the label
_SPACE = 24  # between ticks with a number
_TICKS = 5  # of the y-axis, at least
_PADDING = 0.06  # of the y-axis beyond the data, relative to its length

Scale = Callable[[float], float]


def chart_figure(chart: Chart, *, has_files: bool) -> Markup:
    """Return the figure element of a chart, with links to its SVG and PNG files if there are any."""
    caption = element("figcaption", chart.title, element("span", chart.subtitle) if chart.subtitle else "")
    links = element("p", "download: ", *figure_links(chart.name), class_="links") if has_files else ""
    return element("figure", caption, _legend(chart.lines), _drawing(chart), links)


def figure_links(name: str) -> list[Markup | str]:
    """Return links to the SVG and PNG files of a figure."""
    svg, png = (element("a", kind.upper(), href=f"figures/{name}.{kind}") for kind in ("svg", "png"))
    return [svg, " · ", png]


def nice_ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """Return at least `count` multiples of 1, 2 or 5 times a power of ten inside a range.

    Examples
    --------
    >>> nice_ticks(0.61, 0.85)
    [0.65, 0.7, 0.75, 0.8, 0.85]
    """
    power = 10.0 ** math.floor(math.log10(high - low))
    for step in (power * factor for factor in (1, 0.5, 0.2, 0.1)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 >= count:
            break
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, digits) for i in range(first, last + 1)]


def _drawing(chart: Chart) -> Markup:
    low, high = _range(chart)
    x = _x_scale(chart)
    y = _linear(low, high, _HEIGHT - _BOTTOM, _TOP)
    curves = joined(_curve(line, x, y, chart) for line in chart.lines)
    parts = [*_y_axis(chart, low, high, y), *_x_axis(chart, x), curves]
    return element("svg", *parts, class_="plot", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=chart.title)


def _range(chart: Chart) -> tuple[float, float]:
    """Return the ends of the y-axis, with some space beyond the data and its error bars."""
    ends = [
        value + sign * error
        for line in chart.lines
        for value, error in zip(line.y, line.error or [0.0] * len(line.y), strict=True)
        for sign in (-1, 1)
    ]
    low, high = min(ends), max(ends)
    padding = _PADDING * (high - low) or 0.05
    return 0.0 if chart.from_zero else low - padding, high + padding


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    length = (high - low) or 1.0
    return lambda value: start + (value - low) / length * (end - start)


def _x_scale(chart: Chart) -> Scale:
    ends = (_LEFT + 14, _WIDTH - _RIGHT - 14)
    first, last = chart.ticks[0], chart.ticks[-1]
    if first == last:
        return lambda _: sum(ends) / 2
    if not chart.log_x:
        return _linear(first, last, *ends)
    scale = _linear(math.log2(first), math.log2(last), *ends)
    return lambda value: scale(math.log2(value))


def _y_axis(chart: Chart, low: float, high: float, y: Scale) -> Iterator[Markup]:
    ticks = nice_ticks(low, high)
    digits = max(len(f"{tick:g}".partition(".")[2]) for tick in ticks)
    for tick in ticks:
        place = _short(y(tick))
        yield element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=place, y2=place, class_="grid")
        yield element("text", f"{tick:.{digits}f}", x=_LEFT - 8, y=place, dy="0.35em", text_anchor="end")
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    yield element("text", chart.y_label, transform=f"translate(13 {middle:g}) rotate(-90)", text_anchor="middle")


def _x_axis(chart: Chart, x: Scale) -> Iterator[Markup]:
    bottom = _HEIGHT - _BOTTOM
    shown = -math.inf
    for tick in chart.ticks:
        if x(tick) - shown >= _SPACE:
            shown = x(tick)
            yield element("text", f"{tick:g}", x=_short(shown), y=bottom + 16, text_anchor="middle")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield element("text", chart.x_label, x=middle, y=_HEIGHT - 6, text_anchor="middle")


def _curve(line: Line, x: Scale, y: Scale, chart: Chart) -> Markup:
    points = [(x(a), y(b)) for a, b in zip(line.x, line.y, strict=True)]
    path = element("polyline", points=" ".join(f"{_short(a)},{_short(b)}" for a, b in points), **_stroke(line))
    if line.reference:
        return path
    errors: Sequence[float | None] = line.error or [None] * len(points)
    bars = (
        element("line", x1=_short(a), x2=_short(a), y1=_short(y(value - error)), y2=_short(y(value + error)),
                class_="error", stroke=_color(line))
        for (a, _), value, error in zip(points, line.y, errors, strict=True)
        if error is not None
    )  # fmt: skip
    marks = (
        element("path", element("title", _describe(line.name, chart, x_value, y_value, error)), d=_marker(line),
                fill=_color(line), transform=f"translate({_short(a)} {_short(b)})")
        for (a, b), x_value, y_value, error in zip(points, line.x, line.y, errors, strict=True)
    )  # fmt: skip
    return joined([*bars, path, *marks])


def _describe(name: str, chart: Chart, x: float, y: float, error: float | None) -> str:
    spread = "" if error is None else f" ± {error:.4f}"
    return f"{name}; {chart.x_label}: {x:g}; {chart.y_label}: {y:.4f}{spread}"


def _legend(lines: Sequence[Line]) -> Markup:
    return element("ul", *(element("li", _sample(line), element("span", line.name)) for line in lines), class_="legend")


def _sample(line: Line) -> Markup:
    stroke = element("polyline", points="-14,0 14,0", **_stroke(line))
    mark = "" if line.reference else element("path", d=_marker(line), fill=_color(line))
    return element("svg", stroke, mark, viewBox="-15 -7 30 14", aria_hidden="true")


def _stroke(line: Line) -> dict[str, str]:
    return {"class_": "curve reference" if line.reference else "curve", "stroke": _color(line)}


def _color(line: Line) -> str:
    return f"var(--series-{line.style % len(LIGHT)})"


def _marker(line: Line) -> str:
    return MARKERS[line.style % len(MARKERS)].path


def _short(value: float) -> str:
    return f"{value:.1f}"
