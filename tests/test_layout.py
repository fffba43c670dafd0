"""Two-dimensional layouts."""

import numpy as np
import pytest

from boostne.visualization.layout import flat_map


def clusters(n=60, d=6, groups=3):
    rng = np.random.default_rng(0)
    group = np.arange(n) % groups
    centers = 10 * np.eye(d)[:groups]
    return centers[group] + rng.random((n, d)), group


def test_clusters_stay_separate():
    vectors, group = clusters()
    positions = flat_map(vectors)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert positions.shape == (60, 2)
    assert np.array_equal(group[distances.argmin(axis=1)], group)


def test_layout_is_determined_by_the_seed():
    vectors, _ = clusters()
    assert np.array_equal(flat_map(vectors, seed=3), flat_map(vectors, seed=3))


@pytest.mark.parametrize("shape", [(1, 8), (3, 8), (5, 8), (40, 1), (40, 2), (40, 3)])
def test_layout_of_few_nodes_or_columns(shape):
    positions = flat_map(np.random.default_rng(0).random(shape))
    assert positions.shape == (shape[0], 2)
    assert np.isfinite(positions).all()


def test_equal_vectors_share_a_position():
    assert np.ptp(flat_map(np.zeros((40, 8))), axis=0).tolist() == [0, 0]
