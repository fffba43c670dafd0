"""The demo, run in a separate process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from boostne import load_dataset, read_embedding


def run_demo(folder, *arguments, path=""):
    paths = [path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    search = os.pathsep.join(str(Path(path).resolve()) for path in paths if path)
    return subprocess.run(
        [sys.executable, "-m", "boostne", "demo", *arguments],
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
    rows = re.findall(r"^ *(boostne|the)\b.*?((?: +[01]\.\d{3}){3}) *$", text, re.MULTILINE)
    return [[float(score) for score in numbers.split()] for _, numbers in rows]


def test_boostne_beats_the_pixels_with_few_labels(demo):
    _, text = demo
    boosted, single, pixels = scores(text)
    for row in (boosted, single, pixels):
        assert all(0.5 < score < 1 for score in row)
    # Random guessing scores 0.1.
    assert min(boosted) > 0.9
    assert boosted[0] > pixels[0]
    assert max(map(len, text.splitlines())) <= 80


def test_embedding_has_eight_levels_and_the_ids_of_the_graph(demo):
    folder, _ = demo
    embedding = read_embedding(folder / "demo" / "digits.npz")
    assert embedding.vectors.shape == (1797, 128)
    assert embedding.levels.tolist() == [16] * 8
    assert embedding.nodes.tolist() == load_dataset("digits").graph.nodes.tolist()


def test_picture_has_two_panels_and_ten_colors(demo):
    from matplotlib import image

    folder, _ = demo
    pixels = image.imread(folder / "demo" / "digits.png")[..., :3]
    height, width, _ = pixels.shape
    assert (width, height) == (1800, 960)
    ink = (pixels < 0.9).any(axis=2)
    assert 0.02 < ink.mean() < 0.5
    for half in (ink[:, : width // 2], ink[:, width // 2 :]):
        assert half.mean() > 0.01
    # Ten colors of digits, and the gray of text and axes.
    colors, counts = np.unique((pixels[ink] * 15).astype(int), axis=0, return_counts=True)
    assert len(colors[counts > 100]) > 10


def test_output_names_the_files_and_the_next_command(demo):
    folder, text = demo
    for file in ("digits.npz", "digits.png", "digits.html"):
        assert str(Path("demo") / file) in text
    assert "next: boostne evaluate" in text
    assert sorted(file.name for file in (folder / "demo").iterdir()) == ["digits.html", "digits.npz", "digits.png"]


def test_no_picture_without_matplotlib(tmp_path):
    # A meta path finder that hides matplotlib, installed at startup.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'matplotlib':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    done = run_demo(tmp_path, "-o", "a/b", path=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert 'pip install "boostne[viz]"' in done.stdout
    assert len(scores(done.stdout)) == 3
    assert sorted(file.name for file in (tmp_path / "a" / "b").iterdir()) == ["digits.html", "digits.npz"]
