"""Maps of the levels: node positions in the plane for each level, colored by label."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.visualization.html import Markup, element, radio_group
from boostne.visualization.palette import class_style

ALL_LEVELS = 0
_WIDTH = 1000  # of the longer side in integer units: finer than a screen, and short to write
_NOTE = (
    "Positions are computed from the vectors alone by t-SNE. Colors show labels; a node with several labels has the "
    "color of the most frequent one. Level 1 is the coarsest. Select a label below the map to highlight it."
)


@dataclass(frozen=True, eq=False)
class LevelMap:
    """The maps of one embedding.

    Attributes
    ----------
    name : str
        Name of the data set or the file.
    nodes : sequence of str
    labels : sequence of sequences of str
        Labels of each node; may be empty.
    positions : mapping from int to array of shape (n, 2)
        By level, starting at 1, the coarsest; 0 is all levels concatenated.
    """

    name: str
    nodes: Sequence[str]
    labels: Sequence[Sequence[str]]
    positions: Mapping[int, NDArray[np.float64]]

    def classes(self) -> tuple[list[str], list[int]]:
        """Return the classes, most frequent first, and the class of each node, or -1 for an unlabeled node.

        A node with several labels belongs to the most frequent one.
        """
        count = Counter(label for labels in self.labels for label in labels)
        order = sorted(count, key=lambda label: (-count[label], label))
        rank = {label: i for i, label in enumerate(order)}
        ranks = [min((rank[label] for label in labels), default=-1) for labels in self.labels]
        used = sorted(set(ranks) - {-1})
        class_of_rank = {old: new for new, old in enumerate(used)} | {-1: -1}
        return [order[i] for i in used], [class_of_rank[i] for i in ranks]

    def to_dict(self) -> dict[str, Any]:
        """Return the maps in the form that the page's script reads."""
        classes, class_of = self.classes()
        styles = [class_style(i) for i in range(len(classes))]
        return {
            "name": self.name,
            "nodes": list(self.nodes),
            "labels": [", ".join(labels) for labels in self.labels],
            "classes": [
                {"name": name, "color": color, "symbol": marker.plotly, "sign": marker.sign}
                for name, (color, marker) in zip(classes, styles, strict=True)
            ],
            "class_of": class_of,
            "levels": [
                {"level": level, "x": x.tolist(), "y": y.tolist()}
                for level, (x, y) in (
                    (level, to_integer_grid(self.positions[level]).T) for level in sorted(self.positions)
                )
            ],
        }


def level_name(level: int, last: int) -> str:
    """Return the display name of a level."""
    if level == ALL_LEVELS:
        return "all"
    ends = {1: " (coarsest)", last: " (finest)"} if last > 1 else {}
    return f"{level}{ends.get(level, '')}"


def to_integer_grid(positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Scale a map to integer coordinates, preserving its aspect ratio."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    side = float((high - low).max()) or 1.0
    return np.asarray(np.rint((positions - low) / side * _WIDTH), dtype=np.int64)


def map_explorer(maps: Sequence[LevelMap], kind: str) -> Markup:
    """Return a map with a legend and selectors of map and level; `kind` says what the maps are of."""
    levels = sorted({level for one in maps for level in one.positions})
    return element(
        "div",
        element("p", _NOTE),
        radio_group(kind, "map-name", [(str(i), one.name) for i, one in enumerate(maps)]),
        radio_group("level", "map-level", [(str(level), level_name(level, levels[-1])) for level in levels]),
        element("div", class_="plot map", id="map", role="img", aria_label="map of the nodes"),
        element("p", id="map-status", class_="links", aria_live="polite"),
        element("div", id="map-classes", class_="classes", role="group", aria_label="highlight a label"),
        class_="explorer",
    )
