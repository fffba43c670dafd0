"""The parameter ``progress``: a callable, or a bool for a progress bar."""

import io
from contextlib import redirect_stderr

import numpy as np
import pytest

from boostne import BoostNE, evaluate, evaluate_clusters, evaluate_links, load_dataset, tune
from boostne.errors import ParameterError
from boostne.evaluation import evaluate_nested
from boostne.progress import Progress, reporting, silent, tracked


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def printed(monkeypatch):
    """Return a function that returns what a computation prints to a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    def run(compute, *arguments):
        with redirect_stderr(Terminal()) as terminal:
            compute(*arguments)
        return terminal.getvalue()

    return run


def computations():
    data = load_dataset("karate")
    model = BoostNE(4, levels=2)
    vectors = (data.graph.nodes, np.random.default_rng(0).random((34, 4)))
    return {
        "fit": lambda progress: model.fit(data.graph, progress=progress),
        "fit_transform": lambda progress: model.fit_transform(data.graph, progress=progress),
        "transform": lambda progress: model.fit(data.graph).transform(data.graph, progress=progress),
        "fold_in": lambda progress: model.fit(data.graph).fold_in(data.graph, refresh=True, progress=progress),
        "connectivity_matrix": lambda progress: model.connectivity_matrix(data.graph, progress=progress),
        "tune": lambda progress: tune(data.graph, estimator=model, budget=2, progress=progress),
        "evaluate": lambda progress: evaluate(vectors, data.labels, train=50, repeats=2, progress=progress),
        "evaluate_clusters": lambda progress: evaluate_clusters(vectors, data.labels, repeats=2, progress=progress),
        "evaluate_links": lambda progress: evaluate_links(model, data.graph, repeats=2, progress=progress),
        "evaluate_nested": lambda progress: evaluate_nested(
            {"one": vectors}, data.labels, train=50, repeats=2, progress=progress
        ),
    }


@pytest.mark.parametrize("name", computations())
def test_progress_is_a_callable_or_a_bool(name, printed):
    compute = computations()[name]
    assert printed(compute, False) == ""
    reports = []
    assert printed(compute, reports.append) == ""
    assert all(isinstance(report, Progress) and 0 <= report.done <= 1 for report in reports)
    assert all(report.stage in printed(compute, True) for report in reports[-1:])
    with pytest.raises(ParameterError, match="progress must be a callable, True or False, got 'yes'"):
        compute("yes")


def test_a_bar_is_removed_at_the_end_also_after_an_error(printed):
    def fail():
        with reporting(True) as report:
            report(Progress("reading", 0.5, "[bold]a file"))
            raise ZeroDivisionError

    def expect_failure():
        with pytest.raises(ZeroDivisionError):
            fail()

    shown = printed(expect_failure)
    assert "[bold]a file" in shown
    assert shown.endswith("\x1b[2K")  # the line is erased


def test_nothing_is_written_if_stderr_is_not_a_terminal(capsys):
    with reporting(True) as report:
        report(Progress("reading", 0.5))
    assert capsys.readouterr() == ("", "")


def test_false_is_silent():
    with reporting(False) as report:
        assert report is silent


def test_tracked_reports_the_share_of_finished_items():
    reports = []
    assert list(tracked("ab", 2, reports.append, "scoring")) == ["a", "b"]
    assert [report.done for report in reports] == [0, 0.5, 1]
