"""The folder into which the workers of a cluster write parts, after runs that finished, failed or were killed."""

import shutil
from contextlib import ExitStack

import pytest

from boostne import read_embedding
from boostne.errors import FileFormatError, ParameterError
from boostne.io.parts import part_path, parts_folder


def killed(folder):
    """Leave a folder as a client and a worker do that are killed while parts are moved."""
    copy = folder.with_name("copy")
    with parts_folder(folder) as temporary:
        (temporary / "level-01-U-0.npz").touch()
        part_path(temporary, 1).touch()
        part_path(folder, 0).touch()
        (folder / ".boostne-0123.parquet").touch()
        shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)


def test_parts_of_a_killed_run_are_removed(tmp_path):
    folder = tmp_path / "out"
    killed(folder)
    with pytest.raises(
        FileFormatError, match="the run that writes this embedding has not finished; start it again if it was killed"
    ):
        read_embedding(folder)
    with parts_folder(folder) as temporary:
        assert not list(folder.glob("*.parquet"))
        assert not list(folder.glob(".*.parquet"))
        assert not list(temporary.iterdir())
    assert not list(folder.iterdir())


def test_other_files_are_not(tmp_path):
    killed(tmp_path / "out")
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(ParameterError, match=r"not empty \(found 'thesis.tex'\)"), parts_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "thesis.tex").exists()


def test_finished_parts_are_not(tmp_path):
    with parts_folder(tmp_path) as temporary:
        part_path(temporary, 0).touch()
        assert not list(tmp_path.glob("part-*"))
    with pytest.raises(ParameterError, match=r"not empty \(found 'part-00000.parquet'\)"), parts_folder(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["part-00000.parquet"]


def test_of_two_runs_in_one_folder_the_first_fails(tmp_path):
    with ExitStack() as later:

        def run():
            with parts_folder(tmp_path) as first:
                part_path(first, 0).touch()
                second = later.enter_context(parts_folder(tmp_path))
                part_path(second, 1).touch()

        with pytest.raises(ParameterError, match="another run has begun to write into"):
            run()
        with pytest.raises(FileFormatError, match="has not finished"):
            read_embedding(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["part-00001.parquet"]
