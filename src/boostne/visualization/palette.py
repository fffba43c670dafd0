"""Colors and markers that stay distinguishable, also for color-blind readers, in print and in dark mode."""

from typing import NamedTuple

# Ten colors on white; adjacent ones differ in lightness.
LIGHT = (
    "#332288", "#e69f00", "#117733", "#cc3311", "#56b4e9",
    "#882255", "#999933", "#0072b2", "#ee7799", "#555555",
)  # fmt: skip
# The same hues on a dark background.
DARK = (
    "#a99bff", "#f2b632", "#4fc07a", "#ff7e63", "#8ad3ff",
    "#d77ab0", "#d3d36a", "#4ea3e8", "#ffb0c6", "#b8b8b8",
)  # fmt: skip


class Marker(NamedTuple):
    """A marker: its name in Plotly and in matplotlib, and a text character for it."""

    plotly: str
    matplotlib: str
    sign: str


MARKERS = (
    Marker("circle", "o", "●"),
    Marker("square", "s", "■"),
    Marker("diamond", "D", "◆"),
    Marker("triangle-up", "^", "▲"),
    Marker("cross", "P", "✚"),
)


def class_style(i: int) -> tuple[int, Marker]:
    """Return the color index and marker of the i-th class; the first 50 styles are distinct."""
    return i % len(LIGHT), MARKERS[i // len(LIGHT) % len(MARKERS)]


def css_variables(dark_selector: str = "") -> str:
    """Return the colors as CSS variables for the style sheet and the page's script.

    The colors for dark mode apply if the reader prefers it, or to `dark_selector` if given.
    """
    light, dark = ("".join(f"--series-{i}:{color};" for i, color in enumerate(colors)) for colors in (LIGHT, DARK))
    if dark_selector:
        return f":root{{{light}}}{dark_selector}{{{dark}}}"
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
