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
    """A marker: its name in matplotlib, and its outline around the origin as an SVG path."""

    matplotlib: str
    path: str


MARKERS = (
    Marker("o", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"),
    Marker("s", "M-3.5 -3.5h7v7h-7z"),
    Marker("D", "M0 -4.8L4.8 0L0 4.8L-4.8 0z"),
    Marker("^", "M0 -4.6L4.6 3.6H-4.6z"),
    Marker("P", "M-1.6 -4.4h3.2v2.8h2.8v3.2h-2.8v2.8h-3.2v-2.8h-2.8v-3.2h2.8z"),
)


def class_style(i: int) -> tuple[int, Marker]:
    """Return the color index and marker of the i-th class; the first 50 styles are distinct."""
    return i % len(LIGHT), MARKERS[i // len(LIGHT) % len(MARKERS)]


def css_variables() -> str:
    """Return the colors as CSS variables, for light and dark pages."""
    light, dark = ("".join(f"--series-{i}:{color};" for i, color in enumerate(colors)) for colors in (LIGHT, DARK))
    return f':root{{{light}}}:root[data-theme="dark"]{{{dark}}}'
