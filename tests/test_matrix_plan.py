"""The form of DeepWalk's matrix within a memory budget, how it is reported, and whether limits are respected."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tests.parameters import boostne as boostne_from

import boostne.memory
from boostne import BoostNE, DeepWalkMatrix, NetMF, evaluate, planted_partition
from boostne.cli.program import run
from boostne.errors import MemoryLimitError
from boostne.io import read_embedding
from boostne.matrices import MatrixForm
from boostne.matrices.base import RowSample
from boostne.memory import parse_bytes, resident_memory

SMALL = {"dimensions": 16, "levels": 2, "max_iter": 5, "window": 10}
MB = 1_000_000


@pytest.fixture(scope="module")
def graph():
    return planted_partition(6000, communities=6, seed=2).graph


@pytest.fixture
def free_memory(monkeypatch):
    """Return a function that sets the apparent amount of available memory."""
    return lambda size: monkeypatch.setattr(boostne.memory, "available_memory", lambda: size)


def small(**changes):
    return boostne_from(**{**SMALL, **changes})


def bytes_beside_x(graph, **changes):
    """Return the memory that a fit needs beside a pruned X."""
    expected = small(approximation="push", max_per_row=100, **changes).estimate(graph)
    return expected.peak_bytes - expected.connectivity_bytes


class TestForm:
    def test_exact_if_it_fits(self, graph):
        model = small().fit(graph)
        assert model.approximation_ == "exact"
        assert (model.epsilon_, model.max_per_row_, model.dropped_mass_) == (None, None, None)
        exact = small(approximation="exact").fit(graph)
        np.testing.assert_array_equal(model.embedding_.vectors, exact.embedding_.vectors)

    def test_pruned_if_the_exact_matrix_does_not_fit(self, graph, free_memory, caplog):
        free_memory(int((bytes_beside_x(graph) + 6000 * 100 * 8) / 0.8))
        with caplog.at_level(logging.INFO, "boostne"):
            model = small().fit(graph)
        assert model.approximation_ == "push"
        assert 50 <= model.max_per_row_ <= 150
        assert model.epsilon_ == 0
        assert model.nnz_[0] <= 6000 * model.max_per_row_
        assert model.dropped_mass_.shape == (6000,)
        assert 0 < model.dropped_mass_.mean() < 1
        assert "X is pruned (push, ε = " in caplog.text
        assert str(model.max_per_row_) in caplog.text

    def test_epsilon_of_large_graphs_follows_from_the_entries_per_row(self, graph, monkeypatch):
        monkeypatch.setattr("boostne.matrices.deepwalk.plan.LARGE", 5999)
        model = small(approximation="push", max_per_row=40).fit(graph)
        assert model.epsilon_ == pytest.approx(0.8 / (40 * 2 * graph.n_edges / 6000))
        whole = small(approximation="push", max_per_row=40, epsilon=0).fit(graph)
        assert model.dropped_mass_.mean() > whole.dropped_mass_.mean()

    def test_more_memory_keeps_more_entries_per_row(self, graph, free_memory):
        rows, fixed = [], bytes_beside_x(graph)
        for per_row in (120, 240, 480):
            free_memory(int((fixed + 6000 * per_row * 8) / 0.8))
            model = small()
            model.connectivity_matrix(graph)
            rows.append(model.max_per_row_)
        assert rows[0] < rows[1] < rows[2]

    def test_given_epsilon_and_max_per_row_are_used(self, graph):
        model = small(approximation="push", epsilon=1e-3, max_per_row=17).fit(graph)
        assert (model.approximation_, model.epsilon_, model.max_per_row_) == ("push", 1e-3, 17)
        assert model.nnz_[0] <= 17 * 6000

    def test_push_without_a_limit_on_a_small_graph(self, graph):
        model = small(approximation="push")
        X = model.connectivity_matrix(graph)
        assert model.max_per_row_ > 1000  # rows of a small graph may be long
        assert np.diff(X.indptr).max() <= model.max_per_row_

    def test_other_matrices_are_exact(self, graph):
        model = small(connectivity="adjacency").fit(graph)
        assert model.approximation_ == "exact"

    def test_netmf_takes_the_same_matrix_object(self, graph):
        matrix = DeepWalkMatrix(approximation="push", max_per_row=25)
        X = NetMF(8, connectivity=matrix).connectivity_matrix(graph)
        assert np.diff(X.indptr).max() == 25


class TestMatrixForm:
    @pytest.mark.parametrize(
        ("form", "text"),
        [
            (MatrixForm(), "exact"),
            (MatrixForm("spectral"), "spectral"),
            (MatrixForm("push", 0.00012345, 1500), "push, ε = 0.00012, at most 1,500 entries per row"),
            (MatrixForm("push", 0.0, 20), "push, ε = 0, at most 20 entries per row"),
        ],
    )
    def test_text(self, form, text):
        assert str(form) == text

    def test_forms_with_equal_values_are_equal(self):
        assert MatrixForm("push", 0.1, 7) == MatrixForm("push", 0.1, 7) != MatrixForm("push", 0.1, 8)

    @pytest.mark.parametrize(
        ("approximation", "requested", "on_device"),
        [
            ("exact", "exact", "exact"),
            ("spectral", "spectral", "spectral"),
            ("auto", None, "exact"),
            ("push", None, None),
        ],
    )
    def test_requested_form_and_device_form(self, graph, approximation, requested, on_device):
        matrix = DeepWalkMatrix(approximation=approximation)
        assert matrix.requested_form == (None if requested is None else MatrixForm(requested))
        assert matrix.device_form(graph) == (None if on_device is None else MatrixForm(on_device))


class TestRowSample:
    rows = sparse.csr_array(np.eye(4, 10))  # 4 of 40 entries

    def test_entries_are_extrapolated_to_a_square_matrix(self):
        assert RowSample(self.rows, seconds=1.0).n_entries == 10

    def test_growth_scales_the_entries(self):
        assert RowSample(self.rows, seconds=1.0, growth=2.5).n_entries == 25

    def test_entries_do_not_exceed_a_full_matrix(self):
        assert RowSample(self.rows, seconds=1.0, growth=100.0).n_entries == 100
        assert RowSample(sparse.csr_array(np.ones((2, 10))), seconds=1.0, growth=2.3).n_entries == 100


class TestQuality:
    def test_pruning_preserves_communities(self):
        data = planted_partition(3000, communities=6, mixing=0.3, seed=4)
        scores = []
        for form in ({"approximation": "exact"}, {"approximation": "push", "max_per_row": 100}):
            model = BoostNE(32, levels=2, connectivity=DeepWalkMatrix(**form)).fit(data.graph)
            scores.append(evaluate(model.embedding_, data.labels, train=[20], repeats=3).mean("micro")[0])
        assert scores[0] > 0.9
        assert scores[1] > scores[0] - 0.02


class TestLimits:
    def test_a_requested_form_is_estimated_even_if_it_does_not_fit(self, graph):
        expected = small(approximation="exact", memory_limit=1).estimate(graph)
        assert expected.form == "exact"
        assert expected.nnz > 1_000_000

    def test_too_small_a_limit_names_the_smallest_sufficient_one(self, graph):
        with pytest.raises(MemoryLimitError, match=r"smallest sufficient memory_limit is '[\d.]+[MG]B'") as caught:
            small(memory_limit=resident_memory() + 2 * MB).fit(graph)
        message = str(caught.value)
        assert "6,000 nodes, with X pruned to 32 entries per row" in message
        smallest = parse_bytes("memory_limit", re.search(r"memory_limit is '([\w.]+)'", message)[1])
        # The memory of the process grows slightly with its first fit.
        model = small(memory_limit=smallest + 20 * MB).fit(graph)
        assert model.approximation_ == "push"

    def test_a_given_max_per_row_that_does_not_fit_is_an_error(self, graph):
        limit = resident_memory() + bytes_beside_x(graph) + 6000 * 60 * 8
        with pytest.raises(MemoryLimitError, match=r"pruned to 1000 entries per row.*max_per_row"):
            small(approximation="push", max_per_row=1000, memory_limit=limit).fit(graph)

    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads its peak from /proc")
    @pytest.mark.slow
    @pytest.mark.parametrize(("more", "form"), [(60, "push"), (150, "push"), (1300, "exact")])
    def test_limits_are_respected(self, more, form):
        # The memory of the interpreter and its libraries varies between machines; the limit is on top of that.
        code = """
import sys
from pathlib import Path
from boostne import BoostNE, planted_partition

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

graph = planted_partition(20_000, communities=10).graph
limit = peak() + int(sys.argv[1]) * 1_000_000
model = BoostNE(32, levels=2, window=10, max_iter=6, memory_limit=limit).fit(graph)
print(model.approximation_, peak(), limit)
"""
        done = subprocess.run([sys.executable, "-c", code, str(more)], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        chosen, peak, limit = done.stdout.split()
        assert chosen == form
        assert int(peak) <= int(limit)


class TestCommandLine:
    def test_estimate_shows_the_form(self, tmp_path, graph, capsys):
        path = str(tmp_path / "graph.npz")
        sparse.save_npz(path, graph.adjacency)
        assert run(["estimate", path, "--window", "10"]) == 0  # the memory of the process grows with its first estimate
        assert "form of X" in capsys.readouterr().out
        beside = bytes_beside_x(graph, dimensions=128, levels=8)
        limit = (resident_memory() + beside + 60 * 6000 * 8) // MB + 6
        assert run(["estimate", path, "--window", "10", "--memory", f"{limit}MB", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["form"].startswith("push, ε = ")
        assert found["peak_bytes"] <= limit * MB

    def test_embed_reports_what_was_pruned(self, tmp_path, capsys):
        path = str(tmp_path / "x.npz")
        options = ["--approximation", "push", "--max-per-row", "40", "--epsilon", "1e-4", "--dimensions", "32"]
        assert run(["embed", "digits", "-o", path, *options]) == 0
        out = capsys.readouterr().out
        assert "at most 40 entries per row, ε = 0.0001; dropped walk mass: " in out
        assert read_embedding(path).vectors.shape == (1797, 32)

    def test_embed_names_the_smallest_sufficient_limit(self, tmp_path, capsys):
        path = str(tmp_path / "x.npz")
        assert run(["embed", "digits", "-o", path, "--memory", "1MB"]) == 3
        error = capsys.readouterr().err
        assert "The smallest sufficient --memory is '" in error
        assert not Path(path).exists()
