"""What a user imports, and what that costs."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import boostne


def fresh(code, **environment):
    """Run code in a new process that finds the same package; returns what it printed."""
    source = str(Path(boostne.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("name", [name for name in boostne.__all__ if name != "__version__"])
def test_names_resolve(name):
    public = getattr(boostne, name)
    assert public.__name__ == name
    assert public.__doc__


def test_the_names_of_the_readme():
    names = {"BoostNE", "Embedding", "Graph", "Labels", "as_graph", "evaluate", "load_dataset"}
    assert names | {"read_graph", "read_labels", "read_embedding"} <= set(boostne.__all__)
    assert set(boostne.__all__) <= set(dir(boostne))


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'boostne' has no attribute 'Boostne'"):
        _ = boostne.Boostne
    assert not hasattr(boostne, "karateclub")


def test_import_is_light():
    loaded = fresh("import sys, boostne; print(*sys.modules)")
    assert "boostne" in loaded
    for heavy in ("sklearn", "pyarrow", "scipy", "pandas", "networkx", "matplotlib", "torch"):
        assert heavy not in loaded


def test_graphs_need_no_scikit_learn():
    code = "import sys, boostne; boostne.Graph.from_edges([0], [1]); print(*sys.modules)"
    assert "sklearn" not in fresh(code)


def test_version():
    assert boostne.__version__ == metadata.version("boostne")
