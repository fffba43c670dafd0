"""Code of the documentation that readers copy: it must run."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests import graphs

DOCS = Path(__file__).parents[1] / "docs"


def python_blocks(name):
    """Return the Python code of a page, all blocks joined."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", (DOCS / name).read_text(encoding="utf-8"), re.S | re.M))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_nodes(folder, capsys):
    graph, labels = graphs.planted_partition([60, 60], 0.4, 0.02, seed=6)
    labels, new = np.asarray(labels), [5, 55, 65, 115]
    known = np.setdiff1d(np.arange(120), new)
    edges = np.array([edge[:2] for edge in graphs.edges(graph)], dtype=int)
    for name, rows in {"edges": edges[~np.isin(edges, new).any(axis=1)], "edges-today": edges}.items():
        np.savetxt(folder / f"{name}.csv", rows, fmt="%d", delimiter=",", header="source,target", comments="")
    names = {"known_ids": known, "labels": labels[known], "new_ids": new}
    exec(compile(python_blocks("new-nodes.md"), "new-nodes.md", "exec"), names)
    assert names["vectors"].shape == (120, 32)
    assert sorted(names["new"].nodes.tolist()) == new
    assert names["pipeline"].steps[-1][0] == "logisticregression"
    np.testing.assert_array_equal(names["predicted"], labels[new])
    assert "4 nodes added, 0 removed" in capsys.readouterr().out
    assert (folder / "model.npz").exists()
