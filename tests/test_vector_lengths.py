"""Lengths of vectors: made more equal, with a given mean."""

import numpy as np
import pytest
from tests import graphs

from boostne import BoostNE
from boostne.vector_lengths import BLOCK_ROWS, rescale_alike, rescale_in_place, scale_in_place, undoing_factors


def lengths(vectors):
    return np.linalg.norm(vectors.astype(np.float64), axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_follows_the_definition(dtype):
    vectors = np.random.default_rng(0).gamma(0.5, size=(50, 7)).astype(dtype)
    before = vectors.copy()
    rescale_in_place(vectors, 3.0)
    divided = before / np.sqrt(lengths(before))[:, None]
    np.testing.assert_allclose(vectors, divided * 3.0 / lengths(divided).mean(), rtol=1e-6)
    assert vectors.dtype == dtype


def test_longer_vectors_stay_longer_by_less():
    vectors = np.array([[9.0, 0.0], [0.0, 1.0]])
    rescale_in_place(vectors, 4.0)
    np.testing.assert_allclose(vectors, [[6.0, 0.0], [0.0, 2.0]])


def test_zero_vectors_stay_zero_and_do_not_count():
    vectors = np.array([[0.0, 0.0], [3.0, 4.0]])
    rescale_in_place(vectors, 2.0)
    np.testing.assert_allclose(vectors, [[0.0, 0.0], [1.2, 1.6]])
    zeros = np.zeros((3, 2), np.float32)
    rescale_in_place(zeros, 2.0)
    assert not zeros.any()


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_the_unit_of_the_vectors_does_not_matter(unit):
    vectors = np.random.default_rng(0).random((20, 3)).astype(np.float32)
    scaled = vectors * np.float32(unit)
    rescale_in_place(vectors, 2.5)
    rescale_in_place(scaled, 2.5)
    np.testing.assert_allclose(scaled, vectors, rtol=1e-5)


def test_blocks_of_rows():
    vectors = np.random.default_rng(0).random((BLOCK_ROWS + 3, 2)).astype(np.float32)
    rescale_in_place(vectors, 2.5)
    assert lengths(vectors).mean() == pytest.approx(2.5, rel=1e-6)
    assert lengths(vectors)[-1] > 0


def test_of_boostne():
    graph = graphs.karate()
    plain = BoostNE(8, levels=2, vector_length=0).fit(graph)
    model = BoostNE(8, levels=2).fit(graph)
    expected = plain.embedding_.vectors.copy()
    rescale_in_place(expected, 2.5)
    assert (model.embedding_.vectors == expected).all()
    assert (model.levels_[1] == model.embedding_.level(2)).all()
    assert lengths(BoostNE(8, levels=2, vector_length=7).fit_transform(graph)).mean() == pytest.approx(7, rel=1e-6)


def test_further_vectors_are_treated_alike():
    vectors = np.random.default_rng(0).random((20, 3))
    further = vectors[5:9].copy()
    before = vectors.copy()
    scale = rescale_in_place(vectors, 2.5)
    rescale_alike(further, scale)
    np.testing.assert_array_equal(further, vectors[5:9])
    rows = np.arange(len(vectors))[::-2]
    np.testing.assert_allclose(vectors[rows] * undoing_factors(vectors, scale, rows)[:, None], before[rows])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scaling_by_a_constant(dtype):
    vectors = np.random.default_rng(0).gamma(0.5, size=(50, 7)).astype(dtype)
    vectors[3] = 0
    before = vectors.copy()
    scale_in_place(vectors, 2.0)
    assert lengths(np.delete(vectors, 3, axis=0)).mean() == pytest.approx(2.0, rel=1e-6)
    np.testing.assert_allclose(vectors * before[0, 0] / vectors[0, 0], before, rtol=1e-5)
    nothing = np.zeros((2, 3), dtype)
    scale_in_place(nothing, 2.0)
    assert not nothing.any()
