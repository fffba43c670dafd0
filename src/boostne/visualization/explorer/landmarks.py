"""Layouts of many vectors: t-SNE of a random sample of landmarks, and the other nodes placed next to them."""

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import FloatArray
from boostne.similarity import unit_rows
from boostne.visualization.layout import flat_map

MAX_LANDMARKS = 3000
MAX_LEVEL_LANDMARKS = 1000  # of the layout of one level, which starts from that of all levels
_NEAREST = 5  # landmarks that determine the position of another node
_JITTER = 0.5  # standard deviation of the displacement, relative to the distance between neighboring landmarks
_BLOCK_ROWS = 4096


def choose_landmarks(n_nodes: int, seed: int, limit: int) -> NDArray[np.intp]:
    """Return all rows if there are at most `limit`, or a random sample of this size, sorted.

    A sample contains the smaller ones with the same seed.
    """
    return np.sort(np.random.default_rng(seed).permutation(n_nodes)[:limit])


def landmark_layout(
    vectors: FloatArray, landmarks: NDArray[np.intp], seed: int, reference: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Lay out the landmarks by t-SNE and place the other nodes next to the landmarks most similar to them.

    Parameters
    ----------
    vectors : array of shape (n, d)
    landmarks : array of int
        Rows of the landmarks, sorted.
    seed : int
    reference : array of shape (n, 2), optional
        Another layout of the nodes: this one starts from it and is then rotated towards it.

    Returns
    -------
    ndarray of shape (n, 2)
    """
    start = None if reference is None else reference[landmarks]
    anchors = flat_map(vectors[landmarks], seed, start)
    if start is not None:
        anchors = align(anchors, start)
    if len(landmarks) == len(vectors):
        return anchors
    return _extend(vectors, landmarks, anchors, np.random.default_rng(seed))


def align(positions: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate, reflect, scale and move a layout to the smallest squared distance from another one (Procrustes)."""
    center = positions.mean(axis=0)
    moved, target = positions - center, reference - reference.mean(axis=0)
    left, singular, right = np.linalg.svd(moved.T @ target)
    scale = singular.sum() / (np.square(moved).sum() or 1.0)
    return np.asarray(scale * (moved @ (left @ right)) + reference.mean(axis=0))


def principal_layout(vectors: FloatArray, sample: NDArray[np.intp]) -> NDArray[np.float64]:
    """Project unit vectors on the first two principal components of a sample of them."""
    from threadpoolctl import threadpool_limits

    positions = np.empty((len(vectors), 2))
    with threadpool_limits(1):  # with so little work per call, threads would mostly wait for each other
        mean, axes = _principal_axes(unit_rows(vectors[sample]))
        for start in range(0, len(vectors), _BLOCK_ROWS):
            block = vectors[start : start + _BLOCK_ROWS]
            # One scale for all rows is faster than unit_rows; rows that are tiny beside the others count as zero.
            scaled = (block / (np.abs(block).max() or 1.0)).astype(np.float32, copy=False)
            length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
            projected = scaled @ axes.astype(np.float32)
            positions[start : start + len(block)] = projected / np.where(length > 0, length, 1)
    return positions - mean @ axes


def _principal_axes(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean, and the first two principal components as columns; zero if there are fewer."""
    mean = rows.mean(axis=0)
    found = np.linalg.svd(rows - mean, full_matrices=False)[2][:2]
    # The sign of a singular vector is arbitrary: make the largest entry positive.
    signs = np.sign(found[np.arange(len(found)), np.abs(found).argmax(axis=1)])
    axes = np.zeros((rows.shape[1], 2))
    axes[:, : len(found)] = (found * signs[:, None]).T
    return mean, axes


def _extend(
    vectors: FloatArray, landmarks: NDArray[np.intp], anchors: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Place each node at the median of its most similar landmarks, displaced at random to spread the nodes."""
    anchor_vectors = unit_rows(vectors[landmarks]).astype(np.float32).T
    spacing = _spacing(anchors)
    positions = np.empty((len(vectors), 2))
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        nearest = _largest(unit_rows(vectors[block]).astype(np.float32) @ anchor_vectors)
        displacement = rng.standard_normal((len(nearest), 2)) * (_JITTER * spacing[nearest[:, 0]])[:, None]
        positions[block] = np.median(anchors[nearest], axis=1) + displacement
    positions[landmarks] = anchors
    return positions


def _largest(scores: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the columns of the largest entries of each row, the largest first; overwrites the scores."""
    rows = np.arange(len(scores))
    columns = np.empty((len(scores), _NEAREST), dtype=np.intp)
    for i in range(_NEAREST):  # faster than a partial sort
        columns[:, i] = scores.argmax(axis=1)
        scores[rows, columns[:, i]] = -np.inf
    return columns


def _spacing(anchors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean distance of each landmark from its nearest ones in the plane."""
    from scipy.spatial import KDTree

    distances, _ = KDTree(anchors).query(anchors, _NEAREST + 1)
    return np.asarray(distances[:, 1:].mean(axis=1))
