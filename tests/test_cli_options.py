"""Options of the command line: what they belong to, and what they are passed to."""

import inspect

import pytest
from click.testing import CliRunner

from boostne.cli.estimator import MATRIX_METHODS, make_estimator
from boostne.cli.model_options import MODEL_OPTIONS
from boostne.cli.program import program
from boostne.factorization.checkpoint import Checkpoint
from boostne.matrices import MATRICES
from boostne.models import METHODS


def embed(*arguments):
    """Run ``boostne embed`` as far as the options allow, and return what is printed."""
    done = CliRunner().invoke(program, ["embed", "no-such-graph", "-o", "x.npz", *arguments], standalone_mode=False)
    return str(done.exception)


def parameters(function):
    return set(inspect.signature(function).parameters)


def options_of(kind, name):
    return {option.name for option in MODEL_OPTIONS if name in getattr(option, kind)}


@pytest.mark.parametrize("method", METHODS)
def test_options_of_a_method_are_its_parameters(method):
    expected = parameters(METHODS[method])
    if method in MATRIX_METHODS:
        expected -= {"window"}  # set in the matrix
    assert options_of("methods", method) - {"keep_matrix", "setting"} == expected


@pytest.mark.parametrize("matrix", MATRICES)
def test_options_of_a_matrix_are_its_parameters(matrix):
    assert options_of("matrices", matrix) == parameters(MATRICES[matrix])


def test_matrix_options_make_a_matrix():
    model = make_estimator("boostne", {"connectivity": "node2vec", "p": 0.5, "window": 3, "levels": 2})
    assert type(model.connectivity) is MATRICES["node2vec"]
    assert model.connectivity.get_params() == {"p": 0.5, "q": 1.0, "window": 3, "negative": 1.0}
    assert (model.levels, model.window) == (2, None)


def test_matrix_options_without_a_name_are_those_of_the_default_matrix():
    model = make_estimator("netmf", {"negative": 2, "approximation": "push"})
    assert type(model.connectivity) is MATRICES["deepwalk"]
    assert model.connectivity.negative == 2
    assert model.connectivity.approximation == "push"


@pytest.mark.parametrize("method", METHODS)
def test_options_not_given_keep_the_defaults(method):
    assert make_estimator(method, {}).get_params() == METHODS[method]().get_params()


def test_options_of_a_sampling_method_are_not_those_of_a_matrix():
    model = make_estimator("node2vec", {"p": 0.5, "window": 3, "negative": 2})
    assert (model.p, model.window, model.negative) == (0.5, 3, 2)


def test_checkpoint_and_scheduler():
    assert make_estimator("boostne", {"checkpoint": "a"}).checkpoint == "a"
    kept = make_estimator("boostne", {"checkpoint": "a", "keep_matrix": True}).checkpoint
    assert kept == Checkpoint("a", keep_matrix=True)
    assert make_estimator("boostne", {"engine": "dask"}, "tcp://host:1").engine == "tcp://host:1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--p 2", "--p belongs to --connectivity node2vec or --method node2vec; got --connectivity deepwalk."),
        (
            "--connectivity line --window 3",
            "--window belongs to --connectivity deepwalk, node2vec, grarep or --method deepwalk, node2vec; got "
            "--connectivity line.",
        ),
        ("--method hope --levels 2", "--levels belongs to --method boostne; got --method hope."),
        ("--method line --p 2", "--p belongs to --connectivity node2vec or --method node2vec; got --method line."),
        (
            "--method netmf --beta 1",
            "--beta belongs to --connectivity katz or --method hope; got --connectivity deepwalk.",
        ),
        ("--method netmf --workers 2", "--workers belongs to --method boostne; got --method netmf."),
        (
            "--method deepwalk --connectivity line",
            "--connectivity belongs to --method boostne, netmf; got --method deepwalk.",
        ),
    ],
)
def test_an_option_of_another_method_or_matrix_is_rejected(arguments, message):
    assert embed(*arguments.split()) == message


@pytest.mark.parametrize("method", METHODS)
def test_an_option_of_the_method_is_accepted(method):
    assert embed("--method", method, "--seed", "1").startswith("there is no file or data set")


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_matrix_is_accepted_by_boostne_and_netmf(matrix):
    for method in ("boostne", "netmf"):
        assert embed("--method", method, "--connectivity", matrix).startswith("there is no file or data set")


def test_help_shows_the_default_of_each_owner():
    text = " ".join(CliRunner().invoke(program, ["embed", "--help"]).output.split())
    for note in (
        "[--method boostne; default: 8]",
        "[--connectivity deepwalk; --connectivity node2vec, grarep; --method deepwalk, node2vec (default: 10)]",
        "[--connectivity deepwalk, node2vec, line, grarep (default: 1.0); --method line, deepwalk, node2vec "
        "(default: 5)]",
        "[--method line, deepwalk, node2vec; default: 0.025]",
    ):
        assert note in text
