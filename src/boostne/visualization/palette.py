"""Colors and marks that stay apart, for the color-blind too, and on paper as on a dark screen."""

from typing import NamedTuple

# Ten colors for white; neighbors in the list differ in lightness.
LIGHT = (
    "#332288", "#e69f00", "#117733", "#cc3311", "#56b4e9",
    "#882255", "#999933", "#0072b2", "#ee7799", "#555555",
)  # fmt: skip
# The same hues for a dark ground.
DARK = (
    "#a99bff", "#f2b632", "#4fc07a", "#ff7e63", "#8ad3ff",
    "#d77ab0", "#d3d36a", "#4ea3e8", "#ffb0c6", "#b8b8b8",
)  # fmt: skip


class Mark(NamedTuple):
    """A shape: its name in plotly, its name in matplotlib, and the sign that stands for it in text."""

    plotly: str
    matplotlib: str
    sign: str


MARKS = (
    Mark("circle", "o", "●"),
    Mark("square", "s", "■"),
    Mark("diamond", "D", "◆"),
    Mark("triangle-up", "^", "▲"),
    Mark("cross", "P", "✚"),
)


def look(i: int) -> tuple[int, Mark]:
    """Return the number of the color and the mark of the i-th class: 50 pairs before one comes back."""
    return i % len(LIGHT), MARKS[i // len(LIGHT) % len(MARKS)]


def css_variables() -> str:
    """Return the colors as the style sheet and the page's script know them."""
    light, dark = (
        "".join(f"--series-{i}:{color};" for i, color in enumerate(colors)) for colors in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
