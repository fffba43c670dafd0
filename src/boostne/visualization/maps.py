"""Maps of the levels: where each node lies in the plane, level by level, with its label as color."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.visualization.controls import choice
from boostne.visualization.markup import Markup, element
from boostne.visualization.palette import look

ALL_LEVELS = 0
_SIDE = 1000  # the wider side of a map, in whole units: finer than any screen, and short to write


@dataclass(frozen=True, eq=False)
class LevelMap:
    """The maps of one embedding.

    Attributes
    ----------
    name : str
        Of the data set or the file.
    nodes : sequence of str
    labels : sequence of sequences of str
        What each node carries: one label, several, or none.
    places : mapping from int to array of shape (n, 2)
        By level, from 1, the coarsest; 0 is all levels joined.
    """

    name: str
    nodes: Sequence[str]
    labels: Sequence[Sequence[str]]
    places: Mapping[int, NDArray[np.float64]]

    def classes(self) -> tuple[list[str], list[int]]:
        """Return the classes, the most common first, and the class of each node; -1 is a node without a label.

        A node with several labels counts as the most common of them.
        """
        count = Counter(label for labels in self.labels for label in labels)
        order = sorted(count, key=lambda label: (-count[label], label))
        rank = {label: i for i, label in enumerate(order)}
        found = [min((rank[label] for label in labels), default=-1) for labels in self.labels]
        used = sorted(set(found) - {-1})
        place = {old: new for new, old in enumerate(used)} | {-1: -1}
        return [order[i] for i in used], [place[i] for i in found]

    def to_dict(self) -> dict[str, Any]:
        """Return the maps as the page's script reads them."""
        classes, class_of = self.classes()
        looks = [look(i) for i in range(len(classes))]
        return {
            "name": self.name,
            "nodes": list(self.nodes),
            "labels": [", ".join(labels) for labels in self.labels],
            "classes": [
                {"name": name, "color": color, "symbol": mark.plotly, "sign": mark.sign}
                for name, (color, mark) in zip(classes, looks, strict=True)
            ],
            "class_of": class_of,
            "levels": [
                {"level": level, "x": x.tolist(), "y": y.tolist()}
                for level, (x, y) in (
                    (level, whole_units(self.places[level]).T) for level in sorted(self.places)
                )
            ],
        }


def level_name(level: int, last: int) -> str:
    """Name a level as people choose it."""
    if level == ALL_LEVELS:
        return "all"
    ends = {1: " coarsest", last: " finest"} if last > 1 else {}
    return f"{level}{ends.get(level, '')}"


def whole_units(places: NDArray[np.float64]) -> NDArray[np.int64]:
    """Scale a map to fill a square of whole units, both axes alike."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max()) or 1.0
    return np.asarray(np.rint((places - low) / side * _SIDE), dtype=np.int64)


def map_explorer(maps: Sequence[LevelMap], kind: str) -> Markup:
    """Return the choice of map and level, and the place of the map; `kind` says what the maps are of."""
    levels = sorted({level for found in maps for level in found.places})
    return element(
        "div",
        choice(kind, "map-name", [(str(i), found.name) for i, found in enumerate(maps)]),
        choice("level", "map-level", [(str(level), level_name(level, levels[-1])) for level in levels]),
        element("div", class_="plot map", id="map", role="img", aria_label="map of the nodes"),
        element("p", id="map-status", class_="links", aria_live="polite"),
        element("div", id="map-classes", class_="classes", role="group", aria_label="show one label"),
        class_="explorer",
    )
