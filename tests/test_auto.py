"""Which form X takes within the memory there is, what is told of it, and that limits are kept."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import boostne
import boostne.memory
from boostne import BoostNE, NetMF, planted_partition
from boostne.cli.program import run
from boostne.errors import MemoryLimitError, ParameterError
from boostne.io import read_embedding
from boostne.memory import parse_bytes, resident_memory

SMALL = {"dimensions": 16, "levels": 2, "max_iter": 5}
MB = 1_000_000


@pytest.fixture(scope="module")
def graph():
    return planted_partition(6000, communities=6, seed=2).graph


@pytest.fixture
def free_memory(monkeypatch):
    """Return a function that sets how much memory there seems to be."""
    return lambda size: monkeypatch.setattr(boostne.memory, "available_memory", lambda: size)


def beside(graph, **changes):
    """Bytes that a fit takes besides a pruned X."""
    expected = BoostNE(approximation="push", max_per_row=100, **{**SMALL, **changes}).estimate(graph)
    return expected.peak_bytes - expected.connectivity_bytes


class TestChoice:
    def test_exact_where_it_fits(self, graph):
        model = BoostNE(**SMALL).fit(graph)
        assert model.approximation_ == "exact"
        assert (model.epsilon_, model.max_per_row_, model.dropped_mass_) == (None, None, None)
        exact = BoostNE(approximation="exact", **SMALL).fit(graph)
        np.testing.assert_array_equal(model.embedding_.vectors, exact.embedding_.vectors)

    def test_pruned_where_it_does_not(self, graph, free_memory, caplog):
        free_memory(int((beside(graph) + 6000 * 100 * 8) / 0.8))
        with caplog.at_level(logging.INFO, "boostne"):
            model = BoostNE(**SMALL).fit(graph)
        assert model.approximation_ == "push"
        assert 50 <= model.max_per_row_ <= 150
        assert model.epsilon_ == 0
        assert model.nnz_[0] <= 6000 * model.max_per_row_
        assert model.dropped_mass_.shape == (6000,)
        assert 0 < model.dropped_mass_.mean() < 1
        assert "X is pruned (push, ε = " in caplog.text
        assert str(model.max_per_row_) in caplog.text

    def test_large_graphs_drop_what_a_row_would_not_keep(self, graph, monkeypatch):
        monkeypatch.setattr("boostne.models.walk_matrix.WHOLE_ROWS", 5999)
        model = BoostNE(approximation="push", max_per_row=40, **SMALL).fit(graph)
        assert model.epsilon_ == pytest.approx(0.2 / (40 * 2 * graph.n_edges / 6000))
        whole = BoostNE(approximation="push", max_per_row=40, epsilon=0, **SMALL).fit(graph)
        assert model.dropped_mass_.mean() > whole.dropped_mass_.mean()

    def test_more_memory_means_fuller_rows(self, graph, free_memory):
        rows, fixed = [], beside(graph)
        for per_row in (120, 240, 480):
            free_memory(int((fixed + 6000 * per_row * 8) / 0.8))
            model = BoostNE(**SMALL)
            model.connectivity_matrix(graph)
            rows.append(model.max_per_row_)
        assert rows[0] < rows[1] < rows[2]

    def test_what_the_user_says_goes(self, graph):
        model = BoostNE(approximation="push", epsilon=1e-3, max_per_row=17, **SMALL).fit(graph)
        assert (model.approximation_, model.epsilon_, model.max_per_row_) == ("push", 1e-3, 17)
        assert model.nnz_[0] <= 17 * 6000

    def test_push_without_further_words(self, graph):
        model = BoostNE(approximation="push", **SMALL)
        X = model.connectivity_matrix(graph)
        assert model.max_per_row_ > 1000  # a small graph can afford full rows
        assert np.diff(X.indptr).max() <= model.max_per_row_

    def test_other_matrices_are_what_they_are(self, graph):
        model = BoostNE(connectivity="adjacency", **SMALL).fit(graph)
        assert model.approximation_ == "exact"
        with pytest.raises(ParameterError, match="form of connectivity='deepwalk'"):
            BoostNE(connectivity="adjacency", approximation="push", **SMALL).fit(graph)

    def test_netmf_shares_it(self, graph):
        X = NetMF(8, approximation="push", max_per_row=25).connectivity_matrix(graph)
        assert np.diff(X.indptr).max() == 25


class TestQuality:
    def test_pruning_keeps_the_communities(self):
        from boostne import evaluate

        data = planted_partition(3000, communities=6, mixing=0.3, seed=4)
        scores = []
        for form in ({"approximation": "exact"}, {"approximation": "push", "max_per_row": 100}):
            model = BoostNE(32, levels=2, **form).fit(data.graph)
            scores.append(evaluate(model.embedding_, data.labels, train=[20], repeats=3).mean("micro")[0])
        assert scores[0] > 0.9
        assert scores[1] > scores[0] - 0.02


class TestLimits:
    def test_an_estimate_is_given_though_it_does_not_fit(self, graph):
        expected = BoostNE(approximation="exact", memory_limit=1, **SMALL).estimate(graph)
        assert expected.form == "exact"
        assert expected.nnz > 1_000_000

    def test_too_small_a_limit_tells_the_smallest(self, graph):
        with pytest.raises(MemoryLimitError, match=r"smallest sufficient memory_limit is '\d+MB'") as caught:
            BoostNE(memory_limit=resident_memory() + 2 * MB, **SMALL).fit(graph)
        message = str(caught.value)
        assert "6,000 nodes, with X pruned to 32 entries a row" in message
        smallest = parse_bytes("memory_limit", re.search(r"memory_limit is '(\w+)'", message)[1])
        # What the process holds grows a little with its first fit.
        model = BoostNE(memory_limit=smallest + 20 * MB, **SMALL).fit(graph)
        assert model.approximation_ == "push"

    def test_a_cap_that_does_not_fit_is_not_lowered_in_silence(self, graph):
        limit = resident_memory() + beside(graph) + 6000 * 60 * 8
        with pytest.raises(MemoryLimitError, match=r"pruned to 1000 entries a row.*max_per_row"):
            BoostNE(approximation="push", max_per_row=1000, memory_limit=limit, **SMALL).fit(graph)

    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads its peak from /proc")
    @pytest.mark.parametrize(("more", "form"), [(60, "push"), (150, "push"), (1300, "exact")])
    def test_limits_are_kept(self, more, form):
        # What the interpreter and its libraries hold differs from machine to machine: the limit is on top of that.
        code = """
import sys
from pathlib import Path
from boostne import BoostNE, planted_partition

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

graph = planted_partition(20_000, communities=10).graph
limit = peak() + int(sys.argv[1]) * 1_000_000
model = BoostNE(32, levels=2, max_iter=6, memory_limit=limit).fit(graph)
print(model.approximation_, peak(), limit)
"""
        done = subprocess.run(
            [sys.executable, "-c", code, str(more)], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        chosen, peak, limit = done.stdout.split()
        assert chosen == form
        assert int(peak) <= int(limit)


class TestCommandLine:
    def test_estimate_shows_the_choice(self, tmp_path, graph, capsys):
        from scipy import sparse

        path = str(tmp_path / "graph.npz")
        sparse.save_npz(path, graph.adjacency)
        limit = (resident_memory() + beside(graph, dimensions=128, levels=8) + 60 * 6000 * 8) // MB + 6
        assert run(["estimate", path, "--memory", f"{limit}MB", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["form"].startswith("push, ε = ")
        assert found["peak_bytes"] <= limit * MB
        assert run(["estimate", path]) == 0
        assert "form of X" in capsys.readouterr().out

    def test_embed_tells_what_was_pruned(self, tmp_path, capsys):
        path = str(tmp_path / "x.npz")
        options = [
            "--approximation",
            "push",
            "--max-per-row",
            "40",
            "--epsilon",
            "1e-4",
            "--dimensions",
            "32",
        ]
        assert run(["embed", "digits", "-o", path, *options]) == 0
        out = capsys.readouterr().out
        assert "to at most 40 entries a row, ε = 0.0001; of the walks' mass" in out
        assert read_embedding(path).vectors.shape == (1797, 32)

    def test_the_smallest_limit_in_the_words_of_the_command_line(self, tmp_path, capsys):
        path = str(tmp_path / "x.npz")
        assert run(["embed", "digits", "-o", path, "--memory", "1MB"]) == 3
        error = capsys.readouterr().err
        assert "The smallest sufficient --memory is '" in error
        assert not Path(path).exists()
