"""The files of a checkpoint: they round-trip, and those of another run are rejected."""

import json
from contextlib import contextmanager
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from boostne.errors import CheckpointError, ParameterError
from boostne.factorization.boosting import Level
from boostne.factorization.checkpoint import MANIFEST, Checkpoint, CheckpointFolder
from boostne.matrices import MatrixForm
from boostne.matrices.base import matrix_sha256

RUN = {"graph": "abc", "dimensions": 8, "tol": 1e-4, "approximation": None, "version": "1"}


def level(seed=0):
    rng = np.random.default_rng(seed)
    return Level(rng.random((5, 2), np.float32), rng.random((6, 2), np.float32), rng.random(3), 4, rng.random(), 17)


def assert_same(one, other):
    for field in fields(Level):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert one.U.dtype == other.U.dtype


class TestLevels:
    def test_round_trip(self, tmp_path):
        CheckpointFolder(tmp_path / "new" / "folder", RUN).save_level(1, level(1))
        checkpoint = CheckpointFolder(tmp_path / "new" / "folder", RUN)
        checkpoint.save_level(2, level(2))
        found = checkpoint.levels(8)
        assert len(found) == 2
        assert_same(found[0], level(1))
        assert_same(found[1], level(2))
        assert len(checkpoint.levels(1)) == 1

    def test_none_in_a_new_folder(self, tmp_path):
        assert CheckpointFolder(tmp_path, RUN).levels(8) == []

    @pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "not a zip"])
    def test_damaged_levels_are_computed_again(self, tmp_path, damage):
        checkpoint = CheckpointFolder(tmp_path, RUN)
        for number in (1, 2, 3):
            checkpoint.save_level(number, level(number))
        path = tmp_path / "level-02.npz"
        content = bytearray(path.read_bytes())
        middle = content.index(level(2).U.tobytes())
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        damaged = {"truncated": content[:200], "flipped": flipped, "empty": b"", "not a zip": b"x" * 500}
        path.write_bytes(damaged[damage])
        with pytest.warns(UserWarning, match=r"level-02\.npz is damaged.*level 2 is computed again"):
            found = checkpoint.levels(8)
        assert len(found) == 1

    def test_a_full_disk_is_a_warning(self, tmp_path, no_space):
        checkpoint = CheckpointFolder(tmp_path, RUN)
        checkpoint.save_level(1, level(1))
        before = sorted(tmp_path.iterdir())
        with no_space(), pytest.warns(UserWarning, match="level 2 could not be stored.*File too large"):
            checkpoint.save_level(2, level(2))
        assert sorted(tmp_path.iterdir()) == before
        assert len(checkpoint.levels(8)) == 1


@pytest.fixture
def no_space():
    """Return a context in which no file can grow beyond 1 kB, as with a disk quota."""
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files")

    @contextmanager
    def limited():
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


class TestMatrix:
    def test_round_trip(self, tmp_path):
        X = sparse.random_array((40, 40), density=0.2, format="csr", random_state=np.random.default_rng(0))
        checkpoint = CheckpointFolder(tmp_path, RUN)
        assert checkpoint.matrix(X.shape) is None
        checkpoint.save_matrix(X)
        found, dropped = checkpoint.matrix(X.shape).build()
        assert matrix_sha256(found) == matrix_sha256(X)
        assert dropped is None
        checkpoint.save_matrix(X, np.arange(40.0))
        np.testing.assert_array_equal(checkpoint.matrix(X.shape).build()[1], np.arange(40.0))

    def test_a_damaged_matrix_is_built_again(self, tmp_path):
        checkpoint = CheckpointFolder(tmp_path, RUN)
        (tmp_path / "connectivity.npz").write_bytes(b"PK")
        with pytest.warns(UserWarning, match="the matrix is built again"):
            assert checkpoint.matrix((2, 2)) is None

    def test_checksum_depends_on_values_positions_and_dtype(self):
        X = sparse.csr_array([[0, 1.0], [2.0, 0]])
        others = [2 * X, X.T, X.astype(np.float32)]
        assert len({matrix_sha256(matrix) for matrix in (X, *others)}) == 4
        assert matrix_sha256(X) == matrix_sha256(X.toarray())


class TestForm:
    @pytest.mark.parametrize("form", [MatrixForm(), MatrixForm("push", 1.25e-7, 200)])
    def test_round_trip(self, tmp_path, form):
        checkpoint = CheckpointFolder(tmp_path, RUN)
        assert checkpoint.form() is None
        checkpoint.save_form(form)
        assert CheckpointFolder(tmp_path, RUN).form() == form


def test_checkpoint_opens_its_folder(tmp_path):
    assert not Checkpoint(tmp_path).open(RUN).keep_matrix
    assert Checkpoint(tmp_path, keep_matrix=True).open(RUN).keep_matrix
    with pytest.raises(CheckpointError, match="belongs to another run"):
        Checkpoint(tmp_path).open({**RUN, "tol": 0.1})


class TestErrors:
    def test_another_run(self, tmp_path):
        CheckpointFolder(tmp_path, RUN)
        with pytest.raises(CheckpointError, match="dimensions was 8 and is 16; version was '1' and is '2'"):
            CheckpointFolder(tmp_path, {**RUN, "dimensions": 16, "version": "2"})

    def test_a_parameter_that_the_stored_run_lacks(self, tmp_path):
        CheckpointFolder(tmp_path, RUN)
        with pytest.raises(CheckpointError, match="window was None and is 3"):
            CheckpointFolder(tmp_path, {**RUN, "window": 3})

    @pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"boostne checkpoint": 1}', '{"run": {}}'])
    def test_an_invalid_manifest(self, tmp_path, content):
        (tmp_path / MANIFEST).write_text(content)
        with pytest.raises(CheckpointError, match="is not part of a boostne checkpoint or is damaged"):
            CheckpointFolder(tmp_path, RUN)

    def test_another_format(self, tmp_path):
        (tmp_path / MANIFEST).write_text(json.dumps({"boostne checkpoint": 99, "run": RUN}))
        with pytest.raises(CheckpointError, match="has format 99"):
            CheckpointFolder(tmp_path, RUN)

    def test_a_folder_with_other_files(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("")
        with pytest.raises(CheckpointError, match=r"not empty and holds no checkpoint \(found 'thesis.tex'\)"):
            CheckpointFolder(tmp_path, RUN)

    def test_a_file_instead_of_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ParameterError, match="cannot use"):
            CheckpointFolder(tmp_path / "file", RUN)
