"""Estimates of memory and time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostne.budget import (
    COLUMN_RANGES,
    CSR_GROWTH,
    THREAD_BYTES,
    Workload,
    device_residual_bytes,
    edge_chain_bytes,
    entry_bytes,
    exact_build_bytes,
    full_matrix_bytes,
    graph_reader_bytes,
    push_build_bytes,
    push_source_bytes,
    share_done,
    spectral_build_bytes,
    worker_block_bytes,
)
from boostne.graph import Graph
from boostne.kernels.column_blocked_csr import COLUMN_BLOCKED_FROM
from boostne.matrices.deepwalk.push import PushSource

FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
SMALL = Workload(n_nodes=10, levels=2, components=3, max_iter=5, dtype=FLOAT32, threads=1)
LARGE = Workload(n_nodes=100_000, levels=8, components=16, max_iter=100, dtype=FLOAT32, threads=4)


class TestPeak:
    @pytest.mark.parametrize(("dtype", "size"), [("float32", 8), ("float64", 12), (FLOAT32, 8)])
    def test_an_entry_is_a_value_and_a_column_index(self, dtype, size):
        assert entry_bytes(dtype) == size

    def test_factors_of_the_levels(self):
        # Both factors of two levels with three components, and 9 + 1 thread + 4 pending sums padded to 16 numbers.
        numbers = 2 * 2 * 3 + (9 + 1 + 4) * 16
        assert SMALL.levels_bytes == 10 * (3 * 8 + numbers * 4)
        assert replace(SMALL, dtype=FLOAT64).levels_bytes == 10 * (3 * 8 + numbers * 8)

    def test_accumulators_of_a_column_blocked_pass_are_small(self):
        before, after = (
            replace(LARGE, n_nodes=n).levels_bytes / n for n in (COLUMN_BLOCKED_FROM - 1, COLUMN_BLOCKED_FROM)
        )
        assert before - after == pytest.approx((4 + 4 - 5 / COLUMN_RANGES) * 16 * 4, rel=1e-3)

    def test_the_matrix_beside_the_factors(self):
        assert SMALL.peak_bytes(100) == 100 * 8 + SMALL.levels_bytes + THREAD_BYTES

    def test_the_matrix_while_it_is_built(self):
        nnz, build_bytes = 1_000_000, 3_000_000
        expected = int(CSR_GROWTH * 8 * nnz + build_bytes) + THREAD_BYTES
        assert SMALL.peak_bytes(nnz, build_bytes) == expected

    def test_memory_of_building_counts_only_if_it_exceeds_that_of_the_levels(self):
        assert SMALL.peak_bytes(100, 1) == SMALL.peak_bytes(100)
        assert SMALL.peak_bytes(100, 10**6) > SMALL.peak_bytes(100)

    @pytest.mark.parametrize(
        "larger", [{"n_nodes": 200_000}, {"levels": 9}, {"components": 17}, {"threads": 5}, {"dtype": FLOAT64}]
    )
    @pytest.mark.parametrize("nnz", [0, 10**6, 10**9])
    def test_increases_with_every_size(self, larger, nnz):
        more = replace(LARGE, **larger)
        assert more.levels_bytes > LARGE.levels_bytes
        assert more.peak_bytes(nnz) >= LARGE.peak_bytes(nnz)
        assert more.peak_bytes(0) > LARGE.peak_bytes(0)

    def test_increases_with_the_entries(self):
        peaks = [LARGE.peak_bytes(nnz, 10**8) for nnz in (10**6, 10**7, 10**8, 10**9)]
        assert peaks == sorted(set(peaks))


class TestMaxEntries:
    @pytest.mark.parametrize("work", [SMALL, LARGE, replace(LARGE, dtype=FLOAT64)])
    @pytest.mark.parametrize("build_bytes", [0, 10**6, 10**9])
    @pytest.mark.parametrize("nnz", [1, 1000, 10**6, 123_456_789])
    def test_is_the_inverse_of_the_peak(self, work, build_bytes, nnz):
        size = work.peak_bytes(nnz, build_bytes)
        found = work.max_entries(size, build_bytes)
        assert found == pytest.approx(nnz, abs=1)
        assert work.peak_bytes(found - 1, build_bytes) <= size
        assert work.peak_bytes(found + 2, build_bytes) > size

    def test_is_negative_if_the_factors_alone_do_not_fit(self):
        assert LARGE.max_entries(LARGE.levels_bytes) < 0


class TestBuilding:
    def test_the_exact_matrix(self):
        # Converted graph, column indices, two blocks of 16 columns per thread, and one chunk with all ten rows.
        expected = 10 * (8 + 4 * 4) + 4 * 30 + 2 * 1 * 10 * 16 * 4 + 10 * 10 * 8
        assert exact_build_bytes(SMALL, 30, weighted=False) == expected
        assert exact_build_bytes(SMALL, 30, weighted=True) == expected + 30 * 4
        assert exact_build_bytes(SMALL, 30, weighted=False, max_per_row=5) == expected + 10 * 5 * 8

    def test_the_pruned_matrix(self):
        expected = 10 * (8 + 4 * 4) + 30 * 4 + 10 * (4 * 4 + 8) + 10 * 5 * 8
        assert push_build_bytes(SMALL, 30, weighted=False, max_per_row=5) == expected

    def test_the_spectral_matrix(self):
        expected = 10 * (8 + 4 * 4) + 4 * 10 * 6 * 8
        assert spectral_build_bytes(SMALL, 30, weighted=False, eigenpairs=6) == expected

    @pytest.mark.parametrize(
        ("function", "argument"),
        [(exact_build_bytes, 0), (exact_build_bytes, 50), (push_build_bytes, 50), (spectral_build_bytes, 50)],
    )
    def test_increases_with_every_size(self, function, argument):
        least = function(LARGE, 10**6, False, argument)
        assert function(LARGE, 10**7, True, argument) > function(LARGE, 10**6, True, argument) > least
        assert function(replace(LARGE, n_nodes=200_000), 10**6, False, argument) > least
        assert function(replace(LARGE, dtype=FLOAT64), 10**6, False, argument) >= least
        assert function(replace(LARGE, threads=8), 10**6, False, argument) >= least
        assert function(LARGE, 10**6, False, argument + 1) > least

    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_graph_on_a_worker(self, weighted):
        graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0] if weighted else None)
        source = PushSource(graph, window=2, negative=1, epsilon=0.0, max_per_row=4, dtype=FLOAT32)
        assert push_source_bytes(4, 6, weighted, FLOAT32) == source.nbytes

    def test_matrices_with_every_entry(self):
        assert full_matrix_bytes(100) == 100 * 100 * 12
        assert edge_chain_bytes(1000) == 4 * 1000 * 16


class TestOtherMachines:
    def worker(self, **changes):
        sizes = {"source_bytes": 10**6, "nnz": 10**7, "n_workers": 4, "components": 16, "threads": 2}
        return worker_block_bytes((100_000, 100_000), FLOAT32, **{**sizes, **changes})

    def test_a_worker_holds_its_part_of_the_entries(self):
        assert self.worker(nnz=2 * 10**7) - self.worker() == pytest.approx(1.15 * 10**7 / 4 * 8, abs=1)

    def test_a_worker_holds_the_source_only_while_it_builds_its_rows(self):
        factors = self.worker(source_bytes=0)
        assert self.worker() == factors  # a small graph needs less than the factors
        larger = self.worker(source_bytes=10**9)
        assert self.worker(source_bytes=2 * 10**9) - larger == 10**9
        assert larger - factors < 10**9

    def test_entries_are_copied_while_they_are_sorted_by_columns(self):
        sizes = {"nnz": 60 * 10**6, "n_workers": 2, "components": 16, "source_bytes": 10**9}
        rows_only = worker_block_bytes((300_000, 100_000), FLOAT32, **sizes, threads=1)
        by_strips = worker_block_bytes((300_000, 300_000), FLOAT32, **sizes, threads=1)
        # A block has 65,536 rows of 200 entries, and a growing array a tenth more than it holds.
        assert by_strips - rows_only == pytest.approx((65_536 * 200 - 0.1 * 1.15 * 30 * 10**6) * 8, abs=1)
        several = worker_block_bytes((300_000, 300_000), FLOAT32, **{**sizes, "nnz": 10**9}, threads=4)
        one = worker_block_bytes((300_000, 300_000), FLOAT32, **{**sizes, "nnz": 10**9}, threads=1)
        assert several - one == pytest.approx(1.15 * 5 * 10**8 * (1 / 8 - 0.1) * 8, abs=2)

    def test_more_workers_need_less_each(self):
        sizes = [self.worker(nnz=10**9, n_workers=n) for n in (1, 2, 4, 8)]
        assert sizes == sorted(sizes, reverse=True)

    def test_more_threads_and_components_need_more(self):
        assert self.worker(threads=3) > self.worker()
        assert self.worker(components=17) > self.worker()
        assert self.worker(components=3) == self.worker()  # rows are padded to 16 numbers

    def test_the_residual_on_a_gpu(self):
        assert device_residual_bytes((100, 50), 300, FLOAT32, 1000) == (20_000, 4800, 16_000)
        assert device_residual_bytes((100, 50), 300, FLOAT32, 10**6)[2] == 4 * 100 * 50 * 4


class TestLevelsSeconds:
    def test_small_and_large_graphs(self):
        # 14 passes over half of X up to 10,000 nodes, 6 passes over all of it from 100,000 nodes.
        small, large = replace(LARGE, n_nodes=5_000), replace(LARGE, n_nodes=1_000_000)
        assert small.levels_seconds(1.0, 1e-3) == pytest.approx(8 * 14 * (1 + 0.5 * 5))
        assert large.levels_seconds(1.0, 1e-3) == pytest.approx(8 * 6 * (1 + 1000))

    def test_max_iter_bounds_the_passes(self):
        assert replace(LARGE, max_iter=2).levels_seconds(1.0, 0.0) == pytest.approx(8 * 2)

    def test_growth_scales_the_entries(self):
        assert LARGE.levels_seconds(0.0, 1e-3, growth=2.0) == pytest.approx(2 * LARGE.levels_seconds(0.0, 1e-3))

    def test_increases_with_every_argument(self):
        least = LARGE.levels_seconds(1.0, 1e-3)
        assert LARGE.levels_seconds(1.1, 1e-3) > least
        assert LARGE.levels_seconds(1.0, 2e-3) > least
        assert replace(LARGE, levels=9).levels_seconds(1.0, 1e-3) > least


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data(), st.integers(0, 10**7), st.integers(1, 20))
def test_share_done_is_between_0_and_1(data, n_nodes, levels):
    finished = data.draw(st.integers(0, levels - 1))
    passes = data.draw(st.lists(st.integers(0, 500), min_size=finished, max_size=finished))
    entries = data.draw(st.lists(st.integers(0, 10**10), min_size=finished + 1, max_size=finished + 1))
    entries = np.array(sorted(entries, reverse=True))
    for n_iter in (0, 1, 7, 500):
        assert 0 <= share_done(n_nodes, levels, np.array(passes, int), entries, n_iter) <= 1


def test_share_done_at_the_start_and_at_the_end():
    assert share_done(1000, 3, np.array([], int), np.array([5000]), 0) == 0
    passes, entries = np.array([12, 12]), np.array([5000, 4000, 3000])
    assert share_done(1000, 3, passes, entries, 12) == 1


def test_share_done_increases_with_the_passes_of_a_level():
    known = np.array([11, 11]), np.array([5000, 4000, 3000])
    shares = [share_done(1000, 8, *known, n_iter) for n_iter in range(12)]
    assert shares == sorted(set(shares))


@pytest.mark.parametrize(
    ("n_nodes", "passes", "entries", "seconds"),
    [
        # Measured on cora, wiki, ppi, blogcatalog, and planted partitions, of which the larger ones are pruned. Entries
        # are in thousands, seconds from the first pass of a level to the first of the next.
        (2_708, [11, 19, 23, 13, 17, 18, 22, 16], [600, 340, 280, 230, 200, 180, 160, 140],
         [0.021, 0.027, 0.03, 0.017, 0.022, 0.023, 0.027, 0.018]),
        (2_405, [10, 14, 14, 15, 15, 15, 16, 12], [920, 490, 380, 310, 260, 230, 200, 180],
         [0.022, 0.023, 0.021, 0.021, 0.02, 0.019, 0.02, 0.014]),
        (3_890, [8, 11, 16, 16, 15, 16, 17, 14], [2190, 1450, 1170, 980, 850, 760, 680, 620],
         [0.035, 0.035, 0.045, 0.044, 0.037, 0.038, 0.038, 0.029]),
        (10_312, [13, 13, 11, 12, 11, 11, 11, 11], [20160, 12660, 9560, 7670, 6470, 5620, 5000, 4530],
         [0.422, 0.292, 0.202, 0.188, 0.155, 0.143, 0.131, 0.12]),
        (10_000, [20, 13, 14, 10, 12, 14, 15, 13], [12200, 9530, 7490, 5960, 4900, 4420, 4030, 3700],
         [0.422, 0.234, 0.225, 0.136, 0.14, 0.149, 0.152, 0.118]),
        (30_000, [16, 11, 11, 8, 9, 8, 9, 8], [19980, 19340, 18740, 17810, 16660, 15870, 15170, 14570],
         [0.853, 0.588, 0.582, 0.418, 0.44, 0.414, 0.407, 0.325]),
        (300_000, [5, 5, 6, 5, 5, 5, 6, 6], [60_000] * 8,
         [1.919, 1.467, 1.656, 1.419, 1.414, 1.41, 1.687, 1.431]),
        (1_000_000, [6, 6, 6, 6, 6, 6, 6, 6], [200_000] * 8,
         [8.661, 6.853, 6.954, 7.07, 7.161, 6.993, 6.988, 5.918]),
    ],
)  # fmt: skip
def test_remaining_time_is_within_a_factor_of_two(n_nodes, passes, entries, seconds):
    share = 0.0
    for level in range(8):
        for n_iter in range(1, passes[level] + 1):
            known = np.array(passes[:level], int), 1000 * np.array(entries[: level + 1])
            share = max(share, share_done(n_nodes, 8, *known, n_iter))
            if n_iter == 1 and level > 0:
                predicted = sum(seconds[:level]) * (1 - share) / share
                assert 0.5 < predicted / sum(seconds[level:]) < 2
    assert share > 0.9


class TestGraphReader:
    """``python -m benchmarks bytes_per_edge`` measures 33 bytes per edge with ten edges per node, 58 with weights."""

    @pytest.mark.parametrize(("weighted", "least", "most"), [(False, 30, 32), (True, 54, 80)])
    def test_bytes_per_edge(self, weighted, least, most):
        assert least <= graph_reader_bytes(100_000_000, 1_000_000_000, weighted) / 1e9 <= most

    def test_it_grows_with_the_graph(self):
        sizes = [graph_reader_bytes(n, 10 * n, False) for n in (10**6, 10**7, 10**8, 10**9)]
        assert sizes == sorted(sizes)
        assert sizes[3] > 12 * sizes[2]  # indices of 64 bits
