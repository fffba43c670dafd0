"""The demo, run in a separate process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from boostne import load_dataset, read_embedding
from boostne.cli import digits_demo
from boostne.cli.program import run


def run_demo(folder):
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    search = os.pathsep.join(str(Path(path).resolve()) for path in paths if path)
    return subprocess.run(
        [sys.executable, "-m", "boostne", "demo"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": search, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run_demo(folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def scores(text):
    rows = re.findall(r"^ *(\S.*?)((?: +[01]\.\d{3}){3}) *$", text, re.MULTILINE)
    return {name: [float(score) for score in numbers.split()] for name, numbers in rows}


def test_eight_levels_beat_one_and_other_methods_with_few_labels(demo):
    _, text = demo
    boosted, *others = scores(text).values()
    assert len(others) == 4
    assert boosted[2] > 0.9
    assert (np.array(boosted) > np.array(others) + 0.01).all()
    assert max(boosted) < 1
    # Random guessing scores 0.1.
    assert np.min(others) > 0.2
    assert max(map(len, text.splitlines())) <= 80


def test_readme_shows_the_output(demo):
    _, text = demo
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    # Bits depend on the CPU, so the last digit may differ.
    shown, found = scores(readme), scores(text)
    assert list(shown) == list(found)
    np.testing.assert_allclose(list(shown.values()), list(found.values()), atol=0.0051)


def test_embedding_has_eight_levels_and_the_ids_of_the_graph(demo):
    folder, _ = demo
    embedding = read_embedding(folder / "demo" / "digits.npz")
    assert embedding.vectors.shape == (1797, 128)
    assert embedding.levels.tolist() == [16] * 8
    assert embedding.nodes.tolist() == load_dataset("digits").graph.nodes.tolist()


def test_picture_has_three_panels_and_ten_colors(demo):
    from matplotlib import image

    folder, _ = demo
    pixels = image.imread(folder / "demo" / "digits.png")[..., :3]
    height, width, _ = pixels.shape
    assert (width, height) == (1800, 696)
    ink = (pixels < 0.9).any(axis=2)
    assert 0.02 < ink.mean() < 0.5
    for panel in np.array_split(ink, 3, axis=1):
        assert panel.mean() > 0.01
    # Ten colors of digits, and the gray of text and axes.
    colors, counts = np.unique((pixels[ink] * 15).astype(int), axis=0, return_counts=True)
    assert len(colors[counts > 100]) > 10


def test_output_names_the_files_and_the_next_command(demo):
    folder, text = demo
    for file in ("digits.npz", "digits.png", "digits.html"):
        assert str(Path("demo") / file) in text
    assert "next: boostne evaluate" in text
    assert sorted(file.name for file in (folder / "demo").iterdir()) == ["digits.html", "digits.npz", "digits.png"]


def test_no_picture_without_matplotlib(demo, tmp_path, monkeypatch, capsys):
    embedding = read_embedding(demo[0] / "demo" / "digits.npz")
    scores = {"boostne": [0.1, 0.2, 0.3]}
    result = digits_demo.DemoResult(embedding, np.zeros(len(embedding), int), digits_demo.TRAIN, scores)
    monkeypatch.setattr(digits_demo, "compute", lambda _: result)
    monkeypatch.setattr(digits_demo, "write_explorer", lambda *_: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # importing it raises ImportError
    assert run(["demo", "-o", str(tmp_path / "a" / "b")]) == 0
    assert 'pip install "boostne[viz]"' in capsys.readouterr().out
    assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == ["digits.npz"]
