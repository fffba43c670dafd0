"""The code in the documentation is executed: Python blocks, and commands of the program, page by page."""

import csv
import importlib
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests import graphs

import boostne
from boostne import datasets
from boostne.cli.program import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Code blocks, fenced or indented, and the comment in front that says why one is not executed.
BLOCK = re.compile(
    r"^(?P<skip><!-- not run: [^\n]+ -->\n+)?"
    r"(?:```(?P<language>\w*)\n(?P<fenced>.*?)^```$|(?P<indented>(?:^ {4}\S[^\n]*\n)+))",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^(?:\$ )?boostne (?P<arguments>\S.*?)(?:  .*|)$", re.MULTILINE)
# Commands that need more than this folder has, or that are outlines.
SKIPPED = re.compile(
    r"--scheduler|--workers|\bCOMMAND\b|^reproduce|^report\b|^demo|…|\||\bexplore \S+ --labels \S+$|--setting|NODE\b"
)
FAILING = {"embed karate -o karate.npz --p 0.5": 2}  # shown with its error
# Pages whose blocks are excerpts: they take a graph, its labels, a fitted model and scores for granted.
EXCERPTS = {"look.md", "explorer.md", "tuning.md"}
NEW = ["n5", "n25"]


def all_blocks(page):
    return BLOCK.finditer(page.read_text(encoding="utf-8"))


def blocks(page):
    """Yield (language, code) of the blocks of a page that are executed."""
    for match in all_blocks(page):
        if not match["skip"]:
            yield match["language"] or "", match["fenced"] or re.sub("^ {4}", "", match["indented"], flags=re.M)


def commands(language, code):
    found = [match["arguments"] for match in COMMAND.finditer(code)] if language != "python" else []
    return [arguments for arguments in found if not SKIPPED.search(arguments)]


def is_run(language, code):
    return language == "python" or bool(commands(language, code))


RUNNABLE = [page for page in PAGES if any(is_run(*block) for block in blocks(page))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make an empty folder current; the data set digits is a small graph."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets, "_load_digits", lambda: boostne.planted_partition(200, communities=4))
    monkeypatch.setattr(datasets, "_check_size", lambda _: None)
    return tmp_path


def prepare(page):
    """Write the files that the blocks of a page read into this folder; return the names they take for granted."""
    if page.name == "new-nodes.md":
        return prepare_new_nodes()
    graph, labels = graphs.planted_partition([70, 70], 0.1, 0.01, seed=6)
    nodes = np.array(["ann", "bob", *(f"n{i}" for i in range(2, 140))])
    known = write_edges(nodes[endpoints(graph)], NEW)
    for file in ("graph.txt", "citations.txt"):
        np.savetxt(file, known, fmt="%s")
    lines = [f"{node}\t{label}\n" for node, label in zip(nodes, labels, strict=True) if node not in NEW]
    Path("labels.txt").write_text("".join(lines), encoding="utf-8")
    users, items = ["ann", "bob", *(f"user{i}" for i in range(28))], ["tea", "milk", *(f"item{i}" for i in range(18))]
    pairs = [f"{user},{item}\n" for i, user in enumerate(users) for j, item in enumerate(items) if (i + j) % 3 == 0]
    for file, rows in {"purchases.csv": pairs, "purchases-today.csv": [*pairs, "zoe,tea\n", "zoe,item1\n"]}.items():
        Path(file).write_text("user,item\n" + "".join(rows), encoding="utf-8")
    return excerpt_names() if page.name in EXCERPTS else {}


def endpoints(graph):
    return np.array([edge[:2] for edge in graphs.edges(graph)], dtype=int)


def write_edges(edges, new):
    """Write the edges of today, and those of yesterday, which lack the new nodes; return the latter."""
    known = edges[~np.isin(edges, new).any(axis=1)]
    for file, rows in {"edges.csv": known, "edges-today.csv": edges}.items():
        np.savetxt(file, rows, fmt="%s", delimiter=",", header="source,target", comments="")
    return known


def prepare_new_nodes():
    graph, labels = graphs.planted_partition([60, 60], 0.4, 0.02, seed=6)
    new = [5, 55, 65, 115]
    known = np.setdiff1d(np.arange(120), new)
    write_edges(endpoints(graph), new)
    return {"known_ids": known, "labels": np.asarray(labels)[known], "new_ids": new}


def excerpt_names():
    """Return what excerpts take for granted."""
    graph, labels = boostne.read_graph("edges.csv"), boostne.read_labels("labels.txt")
    model = boostne.BoostNE(8, levels=2).fit(graph)
    model.embedding_.save("vectors.npz")
    scores = [boostne.evaluate(model.embedding_, labels, train=50, repeats=2, seed=0) for _ in range(2)]
    given = {"graph": graph, "labels": labels, "model": model, "embedding": model.embedding_}
    given |= {"vectors": model.embedding_.vectors[:2], "first": scores[0], "second": scores[1]}
    return {name: getattr(boostne, name) for name in boostne.__all__} | given


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_code_runs(page, folder, capsys):
    names = prepare(page)
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
        for arguments in commands(language, code):
            assert run(shlex.split(arguments, comments=True)) == FAILING.get(arguments, 0), arguments
    if page.name == "new-nodes.md":
        check_new_nodes(names, capsys.readouterr().out)


def check_new_nodes(names, output):
    assert names["vectors"].shape == (120, 32)
    assert sorted(names["new"].nodes.tolist()) == names["new_ids"]
    assert names["pipeline"].steps[-1][0] == "logisticregression"
    _, labels = graphs.planted_partition([60, 60], 0.4, 0.02, seed=6)
    np.testing.assert_array_equal(names["predicted"], np.asarray(labels)[names["new_ids"]])
    assert "4 nodes added, 0 removed" in output
    assert Path("model.npz").exists()


def test_most_code_is_run():
    """A block that the patterns above miss would not be noticed otherwise."""
    found = [is_run(*block) for page in PAGES for block in blocks(page)]
    assert sum(found) > 50
    fences = sum(page.read_text(encoding="utf-8").count("\n```python\n") for page in PAGES)
    skipped = sum(bool(match["skip"]) and match["language"] == "python" for page in PAGES for match in all_blocks(page))
    assert fences == skipped + sum(language == "python" for page in PAGES for language, _ in blocks(page))
    assert skipped < 12


def api_names():
    """Return the module and the name of each object in the API reference."""
    module, found = "", []
    for line in (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            found.append((module, line.strip()))
    return found


def test_public_names_are_in_the_api_reference():
    listed = {name for module, name in api_names() if module == "boostne"}
    assert listed == set(boostne.__all__[1:])


@pytest.mark.parametrize(("module", "name"), api_names())
def test_names_of_the_api_reference_have_an_example(module, name):
    assert ">>>" in getattr(importlib.import_module(module), name).__doc__


def test_messages_of_the_troubleshooting_page_exist():
    # The docstrings of errors.py quote messages.
    files = (path for path in (ROOT / "src").rglob("*.py") if path.name != "errors.py")
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    # Join literals that are split over lines.
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    cells = re.findall(r"^\| (`.+?) \| ", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.M)
    messages = [message for cell in cells for message in re.findall("`(.+?)`", cell)]
    assert len(messages) > 15
    assert [message for message in messages if message not in source] == []


def test_table_of_the_readme_is_the_measured_one():
    with (ROOT / "results" / "tuned" / "tuned_scores.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["metric"], row["train_percent"]) == ("micro-f1", "all")]
    measured = {(row["method"], row["dataset"]): float(row["mean"]) for row in rows}
    lines = re.findall(r"^\| (\w+|Micro-F1) \| (.*\d.*|cora.*) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    (_, head), *body = lines
    shown = {
        (method, data): float(cell.strip("* "))
        for method, cells in body
        for data, cell in zip(head.split(" | "), cells.split(" | "), strict=True)
    }
    assert shown.keys() == measured.keys()
    assert all(abs(shown[key] - measured[key]) <= 0.0005 + 1e-9 for key in shown)


def test_links_between_files_exist():
    link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    links = [(page, target) for page in PAGES for target in link.findall(page.read_text(encoding="utf-8"))]
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


def test_link_check_of_the_site(tmp_path):
    broken_links = runpy.run_path(str(ROOT / "scripts" / "check_site.py"))["broken_links"]
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#end">b</a><a href="https://example.org">e</a>')
    (tmp_path / "b.html").write_text('<h1 id="end"></h1><a href="a.html#top">a</a>')
    assert broken_links(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="a.html#no"></a><img src="c.png"><script src="https://example.org/x.js">')
    assert [line.rpartition(": ")[2] for line in broken_links(tmp_path)] == [
        "no such anchor",
        "no such anchor",
        "no such file",
        "loaded from another host",
    ]
