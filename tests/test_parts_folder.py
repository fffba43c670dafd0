"""The folder into which the workers of a cluster write parts, after runs that finished, failed or were killed."""

import pytest

from boostne import read_embedding
from boostne.errors import FileFormatError, ParameterError
from boostne.io.parts import part_path, parts_folder


def killed(folder):
    """Leave a folder as a client and a worker do that are killed while parts are written."""
    with parts_folder(folder) as (parts, temporary):
        (temporary / "level-01-U-0.npz").touch()
        names = [part_path(parts, 0), parts / ".boostne-0123.parquet", *parts.iterdir()]
        content = {path: path.is_dir() for path in names}
    for path, is_folder in content.items():
        path.mkdir() if is_folder else path.touch()


def test_parts_of_a_killed_run_are_removed(tmp_path):
    killed(tmp_path / "out")
    with pytest.raises(
        FileFormatError, match="the run that writes this embedding has not finished; start it again if it was killed"
    ):
        read_embedding(tmp_path / "out")
    with parts_folder(tmp_path / "out") as (parts, temporary):
        assert not list(parts.glob("*.parquet"))
        assert not list(parts.glob(".*.parquet"))
        assert not list(temporary.iterdir())


def test_other_files_are_not(tmp_path):
    killed(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ParameterError, match=r"not empty \(found 'thesis.tex'\)"), parts_folder(tmp_path):
        pass
    assert (tmp_path / "thesis.tex").exists()


def test_finished_parts_are_not(tmp_path):
    with parts_folder(tmp_path) as (parts, _):
        part_path(parts, 0).touch()
    with pytest.raises(ParameterError, match=r"not empty \(found 'part-00000.parquet'\)"), parts_folder(tmp_path):
        pass
    assert part_path(tmp_path, 0).exists()
