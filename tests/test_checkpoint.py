"""The files of a checkpoint: they round-trip, and those of another run are rejected."""

import errno
import json
import shutil
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from benchmarks import damaged_checkpoints
from scipy import sparse

from boostne.errors import CheckpointError, ParameterError
from boostne.factorization import checkpoint as checkpoint_module
from boostne.factorization import checkpoint_files
from boostne.factorization.boosting import Level
from boostne.factorization.checkpoint import FORM, MANIFEST, Checkpoint, CheckpointFolder
from boostne.factorization.checkpoint_files import checksum, write_arrays, write_json
from boostne.matrices import MatrixForm
from boostne.matrices.base import matrix_sha256

RUN = {"graph": "abc", "dimensions": 8, "tol": 1e-4, "approximation": None, "version": "1"}
EXACT = MatrixForm()


def level(seed=0):
    rng = np.random.default_rng(seed)
    return Level(rng.random((5, 2), np.float32), rng.random((5, 2), np.float32), rng.random(3), 4, rng.random(), 17)


def read_levels(folder, most=8, run=RUN, form=EXACT):
    """Return the levels that a new process finds in a folder."""
    checkpoint = CheckpointFolder(folder, run)
    checkpoint.save_form(form)
    return list(checkpoint.levels(most, (5, 2), "float32"))


def write_levels(folder, numbers=(1, 2, 3), run=RUN, form=EXACT):
    """Store levels, and return the folder."""
    checkpoint = CheckpointFolder(folder, run)
    checkpoint.save_form(form)
    for number in numbers:
        checkpoint.save_level(number, level(number))
    return checkpoint


def forge(path, **changes):
    """Change arrays of a file, with a checksum that matches."""
    with np.load(path) as file:
        arrays = dict(file)
    origin = json.loads(arrays.pop("origin").item())
    del origin["sha256"]
    arrays |= {name: np.asarray(value) for name, value in changes.items()}
    write_arrays(path, origin, arrays, checksum(origin, arrays))


def assert_same(one, other):
    for field in fields(Level):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert one.U.dtype == other.U.dtype


class TestLevels:
    def test_round_trip(self, tmp_path):
        folder = tmp_path / "new" / "folder"
        write_levels(folder, [1])
        checkpoint = CheckpointFolder(folder, RUN)
        checkpoint.save_form(EXACT)
        assert len(list(checkpoint.levels(8, (5, 2), "float32"))) == 1
        checkpoint.save_level(2, level(2))
        found = read_levels(folder)
        assert len(found) == 2
        assert_same(found[0], level(1))
        assert_same(found[1], level(2))
        assert len(read_levels(folder, 1)) == 1

    def test_none_in_a_new_folder(self, tmp_path):
        assert read_levels(tmp_path) == []

    def test_files_that_cannot_be_read_are_not_damaged(self, tmp_path, monkeypatch):
        def refuse(path, *_):
            raise PermissionError(13, "Permission denied", str(path))

        write_levels(tmp_path)
        monkeypatch.setattr(checkpoint_module, "read_arrays", refuse)
        with pytest.raises(
            CheckpointError, match=r"level-01\.npz cannot be read \(Permission denied\); make it readable"
        ):
            read_levels(tmp_path)

    @pytest.mark.parametrize("name", ["level-02.npz", "connectivity.npz"])
    @pytest.mark.parametrize("reads", [0, 3])
    def test_files_that_the_disk_interrupts_are_not_damaged(self, tmp_path, monkeypatch, name, reads):
        def open_file(path, *arguments):
            opened[:] = [Path(path).name]
            return open_archive(path, *arguments)

        def read(file, *arguments):
            opened.append("read")
            if opened[0] == name and len(opened) > reads + 1:
                raise OSError(errno.ETIMEDOUT, "Connection timed out")
            return read_file(file, *arguments)

        def resume():
            checkpoint = CheckpointFolder(tmp_path, RUN)
            checkpoint.save_form(EXACT)
            return checkpoint.matrix(EXACT, (5, 5), "float32"), list(checkpoint.levels(8, (5, 2), "float32"))

        checkpoint = CheckpointFolder(tmp_path, RUN)
        checkpoint.save_form(EXACT)
        checkpoint.save_matrix(sparse.csr_array(np.eye(5, dtype=np.float32)))
        for number in (1, 2):
            checkpoint.save_level(number, level(number))
        opened, open_archive, read_file = [], checkpoint_files.open_archive, zipfile.ZipExtFile.read
        monkeypatch.setattr(checkpoint_files, "open_archive", open_file)
        monkeypatch.setattr(zipfile.ZipExtFile, "read", read)
        with pytest.raises(CheckpointError, match=rf"{name} cannot be read \(Connection timed out\); make it readable"):
            resume()

    def test_a_form_that_cannot_be_read_is_not_damaged(self, tmp_path, monkeypatch):
        def refuse(path, **_):
            raise PermissionError(13, "Permission denied", str(path))

        write_levels(tmp_path)
        checkpoint = CheckpointFolder(tmp_path, RUN)
        monkeypatch.setattr(Path, "read_text", refuse)
        with pytest.raises(CheckpointError, match=r"form\.json cannot be read \(Permission denied\); make it readable"):
            checkpoint.form()

    @pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "not a zip"])
    def test_damaged_levels_are_computed_again(self, tmp_path, damage):
        write_levels(tmp_path)
        path = tmp_path / "level-02.npz"
        content = bytearray(path.read_bytes())
        middle = content.index(level(2).U.tobytes())
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        damaged = {"truncated": content[:200], "flipped": flipped, "empty": b"", "not a zip": b"x" * 500}
        path.write_bytes(damaged[damage])
        with pytest.warns(UserWarning, match=r"level-02\.npz is damaged.*level 2 is computed again"):
            assert len(read_levels(tmp_path)) == 1
        # Level 3 was computed from the damaged level: another copy of level 2 replaces both.
        write_levels(tmp_path, [2])
        assert sorted(path.name for path in tmp_path.glob("level-*")) == ["level-01.npz", "level-02.npz"]

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"U": np.ones((5, 2))}, "U must have shape .* found .* float64"),
            ({"V": np.ones((6, 2), np.float32)}, r"V must have shape \(5, 2\) .* found \(6, 2\)"),
            ({"U": np.full((5, 2), np.nan, np.float32)}, "U must be finite"),
            ({"V": np.full((5, 2), -1, np.float32)}, "V must be finite and not negative"),
            ({"objective": np.zeros((1, 1))}, "objective must have shape"),
            ({"n_iter": -1}, "n_iter must be finite and not negative"),
            ({"n_iter": 2.0}, "n_iter must have shape"),
            ({"residual_norm": np.inf}, "residual_norm must be finite"),
        ],
    )
    def test_invalid_values_with_a_valid_checksum_are_computed_again(self, tmp_path, change, problem):
        write_levels(tmp_path)
        forge(tmp_path / "level-02.npz", **change)
        with pytest.warns(UserWarning, match=problem):
            assert len(read_levels(tmp_path)) == 1

    @pytest.mark.parametrize("dtype", ["m8[s]", "M8[s]", "U1"])
    def test_levels_of_other_types_are_computed_again(self, tmp_path, dtype):
        write_levels(tmp_path)
        path = tmp_path / "level-02.npz"
        with np.load(path) as archive:
            arrays = dict(archive)
        np.savez(path, **arrays | {"U": np.zeros((5, 2), dtype)})
        with pytest.warns(
            UserWarning,
            match=r"level-02\.npz is damaged \(U must contain numbers, found the type .*level 2 is computed again",
        ):
            assert len(read_levels(tmp_path)) == 1

    def test_levels_of_another_run_are_refused(self, tmp_path):
        write_levels(tmp_path / "one")
        write_levels(tmp_path / "other", run={**RUN, "seed": 1})
        shutil.copy(tmp_path / "other" / "level-02.npz", tmp_path / "one")
        with pytest.raises(CheckpointError, match=r"level-02\.npz belongs to another run; .*delete it"):
            read_levels(tmp_path / "one")

    def test_levels_in_another_order_are_refused(self, tmp_path):
        write_levels(tmp_path)
        shutil.copy(tmp_path / "level-03.npz", tmp_path / "level-02.npz")
        with pytest.raises(CheckpointError, match=r"level-02\.npz contains 'level 3' instead of 'level 2'"):
            read_levels(tmp_path)

    def test_a_level_that_does_not_continue_the_one_before_is_refused(self, tmp_path):
        write_levels(tmp_path / "one")
        same_run = CheckpointFolder(tmp_path / "other", RUN)
        same_run.save_form(EXACT)
        same_run.save_level(1, level(7))  # the same run with other rounding, as on another CPU
        shutil.copy(tmp_path / "other" / "level-01.npz", tmp_path / "one")
        with pytest.raises(CheckpointError, match=r"level-02\.npz was not computed from the level stored before it"):
            read_levels(tmp_path / "one")
        (tmp_path / "one" / "level-02.npz").unlink()
        assert_same(*read_levels(tmp_path / "one"), level(7))

    def test_levels_of_another_form_are_refused(self, tmp_path):
        write_levels(tmp_path)
        with pytest.raises(CheckpointError, match="was computed from another form of the connectivity matrix"):
            read_levels(tmp_path, form=MatrixForm("spectral"))

    def test_a_full_disk_is_a_warning(self, tmp_path, no_space):
        checkpoint = write_levels(tmp_path, [1])
        before = sorted(tmp_path.iterdir())
        with no_space(), pytest.warns(UserWarning, match=r"level 2 \(\d+ B\) could not be stored.*File too large"):
            checkpoint.save_level(2, level(2))
        assert sorted(tmp_path.iterdir()) == before
        assert len(read_levels(tmp_path)) == 1


class TestMatrix:
    X = sparse.random_array((40, 40), density=0.2, format="csr", random_state=np.random.default_rng(0))

    def stored(self, folder, dropped=None, X=X):
        checkpoint = CheckpointFolder(folder, RUN)
        checkpoint.save_form(EXACT)
        checkpoint.save_matrix(X, dropped)
        return checkpoint

    def read(self, folder, form=EXACT):
        return CheckpointFolder(folder, RUN).matrix(form, self.X.shape, "float64")

    def test_round_trip(self, tmp_path):
        assert self.read(tmp_path) is None
        self.stored(tmp_path)
        found, dropped = self.read(tmp_path).build()
        assert matrix_sha256(found) == matrix_sha256(self.X)
        assert dropped is None
        self.stored(tmp_path, np.arange(40.0))
        np.testing.assert_array_equal(self.read(tmp_path).build()[1], np.arange(40.0))

    def test_a_damaged_matrix_is_built_again(self, tmp_path):
        self.stored(tmp_path)
        (tmp_path / "connectivity.npz").write_bytes(b"PK")
        with pytest.warns(UserWarning, match="the matrix is built again"):
            assert self.read(tmp_path) is None

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"indices": np.full(320, 1 << 30, np.int32)}, r"column indices must be in \[0, 40\), found 1073741824"),
            ({"indices": np.full(320, -1, np.int32)}, "column indices must be in"),
            ({"indices": np.zeros(320)}, "must be signed integers"),
            ({"indptr": np.array([0, *[1000] * 39, 320])}, "indptr must not decrease"),
            ({"indptr": np.zeros(7, np.int64)}, "index pointer size"),
            ({"data": np.ones(320, np.float32)}, "data must have shape .* found .*float32"),
            ({"data": np.full(320, np.inf)}, "data must be finite"),
            ({"data": np.ones((320, 2))}, "data must have shape"),
            ({"dropped": np.zeros(39)}, "dropped must have shape"),
        ],
    )
    def test_invalid_values_with_a_valid_checksum_are_built_again(self, tmp_path, change, problem):
        self.stored(tmp_path)
        forge(tmp_path / "connectivity.npz", **change)
        with pytest.warns(UserWarning, match=problem):
            assert self.read(tmp_path) is None

    def test_another_form_is_refused(self, tmp_path):
        self.stored(tmp_path)
        with pytest.raises(CheckpointError, match=r"connectivity\.npz was computed from another form"):
            self.read(tmp_path, MatrixForm("spectral"))

    def test_levels_of_another_matrix_are_refused(self, tmp_path):
        self.stored(tmp_path).save_level(1, level())
        checkpoint = self.stored(tmp_path, X=2 * self.X)
        with pytest.raises(CheckpointError, match="another connectivity matrix than the one stored next to it"):
            list(checkpoint.levels(8, (5, 2), "float32"))

    def test_levels_stored_without_a_matrix_are_kept(self, tmp_path):
        write_levels(tmp_path)
        checkpoint = self.stored(tmp_path)
        assert len(list(checkpoint.levels(8, (5, 2), "float32"))) == 3

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

    @pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, '{"form": {"name": "exact"}}'])
    def test_a_damaged_form_is_chosen_again(self, tmp_path, content):
        write_levels(tmp_path)
        (tmp_path / FORM).write_text(content)
        with pytest.warns(UserWarning, match=r"form\.json is damaged.*is chosen again"):
            assert CheckpointFolder(tmp_path, RUN).form() is None

    @pytest.mark.parametrize("form", [{"name": "exact", "extra": 1}, {"epsilon": "1"}, {"name": 5}, 7, None])
    def test_an_invalid_form_with_a_valid_checksum_is_chosen_again(self, tmp_path, form):
        write_levels(tmp_path)
        content = json.loads((tmp_path / FORM).read_text())
        del content["sha256"]
        write_json(tmp_path / FORM, {**content, "form": form})
        with pytest.warns(UserWarning, match=r"form\.json is damaged"):
            assert CheckpointFolder(tmp_path, RUN).form() is None

    def test_the_form_of_another_run_is_refused(self, tmp_path):
        write_levels(tmp_path / "one")
        write_levels(tmp_path / "other", run={**RUN, "seed": 1})
        shutil.copy(tmp_path / "other" / FORM, tmp_path / "one")
        with pytest.raises(CheckpointError, match=r"form\.json belongs to another run"):
            CheckpointFolder(tmp_path / "one", RUN).form()

    def test_a_full_disk_is_a_warning(self, tmp_path, no_space):
        checkpoint = CheckpointFolder(tmp_path, RUN)
        with no_space(100), pytest.warns(UserWarning, match="the form of X could not be stored.*File too large"):
            checkpoint.save_form(EXACT)
        assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def test_checkpoint_opens_its_folder(tmp_path):
    assert not Checkpoint(tmp_path).open(RUN).keep_matrix
    assert Checkpoint(tmp_path, keep_matrix=True).open(RUN).keep_matrix
    with pytest.raises(CheckpointError, match="belongs to another run"):
        Checkpoint(tmp_path).open({**RUN, "tol": 0.1})


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Return a folder with the checkpoints of several runs."""
    folder = tmp_path_factory.mktemp("runs")
    damaged_checkpoints.prepare(folder)
    return folder


class TestResuming:
    """A sample of ``python -m benchmarks damaged_checkpoints``."""

    def test_flipped_bits_give_the_same_result_or_an_error(self, checkpoints):
        cases = damaged_checkpoints.flips(checkpoints, 24)
        assert {damaged_checkpoints.outcome(checkpoints, case) for case in cases} == {"same bits", "refused"}

    def test_files_of_other_runs_and_levels_are_refused(self, checkpoints):
        cases = damaged_checkpoints.swaps(checkpoints, 12)
        assert {damaged_checkpoints.outcome(checkpoints, case) for case in cases} == {"refused"}

    @pytest.mark.parametrize("level", ["level-01.npz", "level-03.npz"])
    def test_a_folder_is_repaired(self, checkpoints, tmp_path, level):
        folder = tmp_path / "run"
        shutil.copytree(checkpoints / damaged_checkpoints.BASE, folder)
        (folder / level).write_bytes(b"")
        with pytest.warns(UserWarning, match=f"{level} is damaged"):
            damaged_checkpoints.fit(damaged_checkpoints.BASE, folder)
        resumed = damaged_checkpoints.fit(damaged_checkpoints.BASE, folder)
        assert damaged_checkpoints.result(resumed) == (checkpoints / "expected").read_bytes()


class TestErrors:
    def test_another_run(self, tmp_path):
        CheckpointFolder(tmp_path, RUN)
        with pytest.raises(CheckpointError, match="dimensions was 8 and is 16; version was '1' and is '2'"):
            CheckpointFolder(tmp_path, {**RUN, "dimensions": 16, "version": "2"})

    def test_a_parameter_that_the_stored_run_lacks(self, tmp_path):
        CheckpointFolder(tmp_path, RUN)
        with pytest.raises(CheckpointError, match="window was None and is 3"):
            CheckpointFolder(tmp_path, {**RUN, "window": 3})

    @pytest.mark.parametrize("content", ["", "{", "{}", "[" * 100_000, '{"boostne checkpoint": 1}', '{"run": {}}'])
    def test_an_invalid_manifest(self, tmp_path, content):
        (tmp_path / MANIFEST).write_text(content)
        with pytest.raises(CheckpointError, match="is not part of a boostne checkpoint or is damaged"):
            CheckpointFolder(tmp_path, RUN)

    @pytest.mark.parametrize("version", [1, 99])
    def test_another_format(self, tmp_path, version):
        (tmp_path / MANIFEST).write_text(json.dumps({"boostne checkpoint": version, "run": RUN}))
        with pytest.raises(CheckpointError, match=f"has format {version} and .* reads 2; give another folder"):
            CheckpointFolder(tmp_path, RUN)

    def test_a_changed_manifest(self, tmp_path):
        CheckpointFolder(tmp_path, RUN)
        path = tmp_path / MANIFEST
        path.write_text(path.read_text().replace("abc", "xyz"))
        with pytest.raises(CheckpointError, match="is damaged"):
            CheckpointFolder(tmp_path, RUN)

    def test_equal_parameters_of_another_type(self, tmp_path):
        write_levels(tmp_path, run={**RUN, "tol": 0})
        assert len(read_levels(tmp_path, run={**RUN, "tol": 0.0})) == 3

    def test_a_folder_with_other_files(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("")
        with pytest.raises(CheckpointError, match=r"not empty and holds no checkpoint \(found 'thesis.tex'\)"):
            CheckpointFolder(tmp_path, RUN)

    def test_a_file_instead_of_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ParameterError, match="cannot use"):
            CheckpointFolder(tmp_path / "file", RUN)
