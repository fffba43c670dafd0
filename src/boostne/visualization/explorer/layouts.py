"""Layouts of all levels, aligned with each other: at once, or improved step by step while they are shown."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding, FloatArray
from boostne.progress import Progress, ProgressCallback, silent
from boostne.visualization.explorer.landmarks import (
    MAX_LANDMARKS,
    MAX_LEVEL_LANDMARKS,
    align,
    choose_landmarks,
    landmark_layout,
    principal_layout,
)
from boostne.visualization.explorer.packing import to_map_grid

_PARALLEL_LEVELS = 2


def level_layouts(embedding: Embedding, seed: int, progress: ProgressCallback = silent) -> list[NDArray[np.float64]]:
    """Lay out all levels together, then each level starting from that.

    Returns
    -------
    list of ndarray of shape (n, 2)
        Item 0 is the layout of all levels, and the only one of an embedding with one level; item i is that of level i.
    """
    from threadpoolctl import threadpool_limits

    landmarks, level_landmarks = _choose(embedding, seed)
    progress(Progress("map", 0.0, "all levels"))
    # One thread per layout: the last bits of sums, and so the layout, would depend on the number of threads.
    with threadpool_limits(1), ThreadPoolExecutor(_PARALLEL_LEVELS) as pool:
        layouts = [landmark_layout(embedding.vectors, landmarks, seed)]
        pending = [
            pool.submit(landmark_layout, embedding.level(level), level_landmarks, seed, layouts[0])
            for level in range(1, count_layouts(embedding))
        ]
        for level, layout in enumerate(pending, 1):
            progress(Progress("map", level / count_layouts(embedding), f"level {level} of {embedding.n_levels}"))
            layouts.append(layout.result())
    return layouts


def _choose(embedding: Embedding, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the landmarks of all levels together, and those of each level."""
    n = len(embedding)
    return choose_landmarks(n, seed, MAX_LANDMARKS), choose_landmarks(n, seed, MAX_LEVEL_LANDMARKS)


def count_layouts(embedding: Embedding) -> int:
    """Return the number of layouts: one, or one per level and one of all levels."""
    return 1 + embedding.n_levels if embedding.n_levels > 1 else 1


class ProgressiveLayouts:
    """Layouts that are available at once, by principal components, and improved by :meth:`refine`.

    Parameters
    ----------
    embedding : Embedding
    seed : int
    """

    def __init__(self, embedding: Embedding, seed: int) -> None:
        self._embedding = embedding
        self._seed = seed
        self._landmarks, self._level_landmarks = _choose(embedding, seed)
        self._principal = principal_layout(embedding.vectors, self._landmarks)
        self._refined: dict[int, NDArray[np.uint16]] = {}
        self._lock = threading.Lock()

    def refined_levels(self) -> list[int]:
        """Return the layouts that are final, in the order in which they were finished."""
        with self._lock:
            return list(self._refined)

    def grid(self, level: int) -> NDArray[np.uint16]:
        """Return the best positions so far, as coordinates of the map."""
        with self._lock:
            if level in self._refined:
                return self._refined[level]
        if level == 0:
            return to_map_grid(self._principal)
        return to_map_grid(align(principal_layout(self._vectors(level), self._landmarks), self._principal))

    def refine(self, stop: threading.Event) -> None:
        """Compute the final layouts, one after another, until all are done or the event is set."""
        from threadpoolctl import threadpool_limits

        whole: NDArray[np.float64] | None = None
        for level in range(count_layouts(self._embedding)):
            if stop.is_set():
                return
            landmarks = self._level_landmarks if level else self._landmarks
            with threadpool_limits(1):
                layout = landmark_layout(self._vectors(level), landmarks, self._seed, whole)
            whole = layout if whole is None else whole
            grid = to_map_grid(layout)
            with self._lock:
                self._refined[level] = grid

    def _vectors(self, level: int) -> FloatArray:
        return self._embedding.level(level) if level else self._embedding.vectors
