"""Public names, their type stubs, and the cost of importing them."""

import ast
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import boostne

PUBLIC = [name for name in boostne.__all__ if name != "__version__"]


def run_python(code):
    """Run code in a new process that imports the same package; returns the printed words."""
    source = str(Path(boostne.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def stub_imports():
    """Map each name imported for type checkers to the module it is imported from."""
    tree = ast.parse(Path(boostne.__file__).read_text())
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    assert len(blocks) == 1
    imports = [node for node in blocks[0].body if isinstance(node, ast.ImportFrom)]
    # "name as name" marks a re-export for type checkers.
    return {alias.asname: node.module for node in imports for alias in node.names}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_resolve_and_have_docstrings(name):
    public = getattr(boostne, name)
    assert public.__name__ == name
    assert public.__doc__


def test_public_names_and_type_stubs_agree():
    assert stub_imports() == boostne._HOME
    assert sorted(boostne._HOME) == sorted(PUBLIC)
    assert dir(boostne) == sorted(boostne.__all__)
    assert len(set(boostne.__all__)) == len(boostne.__all__)


def test_names_used_in_the_readme_are_public():
    names = {"BoostNE", "Embedding", "Graph", "Labels", "as_graph", "evaluate", "load_dataset"}
    names |= {"read_graph", "read_labels", "read_embedding"}
    assert names <= set(boostne.__all__)


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="module 'boostne' has no attribute 'Boostne'"):
        _ = boostne.Boostne
    assert not hasattr(boostne, "karateclub")


def test_import_does_not_load_heavy_packages():
    loaded = run_python("import sys, boostne; print(*sys.modules)")
    assert "boostne" in loaded
    for heavy in ("sklearn", "pyarrow", "scipy", "pandas", "networkx", "matplotlib", "torch"):
        assert heavy not in loaded


def test_graph_does_not_load_scikit_learn():
    code = "import sys, boostne; boostne.Graph.from_edges([0], [1]); print(*sys.modules)"
    assert "sklearn" not in run_python(code)


def test_local_fit_does_not_load_other_engines():
    code = (
        "import sys, boostne; graph = boostne.load_dataset('karate').graph;"
        "boostne.BoostNE(4, levels=2).fit(graph); print(*sys.modules)"
    )
    loaded = run_python(code)
    assert "boostne.factorization.local" in loaded
    for package in ("boostne.factorization.dask", "boostne.factorization.cuda", "distributed", "torch"):
        assert package not in loaded


def test_version_is_the_installed_one():
    assert boostne.__version__ == metadata.version("boostne")
