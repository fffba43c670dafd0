"""Model files: everything survives, and damaged, foreign and newer files are refused."""

import json

import numpy as np
import pytest
from tests import graphs

from boostne import BoostNE, DeepWalkMatrix, Graph, read_embedding
from boostne.errors import FileFormatError, GraphError, ParameterError
from boostne.models import model_files

KARATE = graphs.karate()
MODELS = {
    "default": BoostNE(8, levels=2),
    "paper": BoostNE.paper(dimensions=8, levels=2).set_params(connectivity__eigenpairs=20),
    "pushed": BoostNE(8, levels=2, connectivity=DeepWalkMatrix(window=3, approximation="push", max_per_row=9)),
    "float64": BoostNE(8, levels=4, dtype="float64", propagation=0.3, vector_length=1, random_state=7),
    "katz": BoostNE(8, levels=2, connectivity="katz"),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].fit(KARATE)


def rewrite(path, **changes):
    """Change arrays of a file, with a valid checksum; None removes one."""
    with np.load(path) as file:
        arrays = dict(file)
    arrays |= changes
    arrays = {name: array for name, array in arrays.items() if array is not None}
    arrays["sha256"] = np.array(model_files._digest(arrays["model"].item(), arrays))
    np.savez(path, **arrays)


def change_header(path, **changes):
    with np.load(path) as file:
        header = json.loads(file["model"].item())
    rewrite(path, model=np.array(json.dumps(header | changes)))


class TestRoundTrip:
    def test_attributes_survive(self, model, path):
        model.save(path)
        loaded = BoostNE.load(path)
        for name in ("vectors", "nodes", "levels"):
            np.testing.assert_array_equal(getattr(loaded.embedding_, name), getattr(model.embedding_, name))
        fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
        assert fitted == {name for name in vars(loaded) if name.endswith("_") and not name.startswith("_")}
        for name in ("context_", "n_iter_", "residual_norms_", "nnz_", "dropped_mass_"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
        for name in ("objective_", "levels_"):
            for ours, theirs in zip(getattr(loaded, name), getattr(model, name), strict=True):
                np.testing.assert_array_equal(ours, theirs)
        for name in ("settings_", "approximation_", "epsilon_", "max_per_row_", "engine_", "scale_", "n_features_in_"):
            assert getattr(loaded, name) == getattr(model, name)
        assert vars(loaded.connectivity_) == vars(model.connectivity_)

    def test_parameters_survive(self, model, path):
        model.set_params(threads=1).save(path)
        loaded = BoostNE.load(path)
        assert loaded.result_parameters() == model.result_parameters()
        assert loaded.threads is None

    def test_new_nodes_get_the_same_vectors(self, model, path):
        model.save(path)
        larger = Graph.from_edges(*np.array([*graphs.edges(KARATE), (34, 0), (34, 33), (35, 34)]).T[:2])
        np.testing.assert_array_equal(BoostNE.load(path).transform(larger), model.transform(larger))

    def test_it_is_an_embedding_file_too(self, model, path):
        model.save(path)
        np.testing.assert_array_equal(read_embedding(path).vectors, model.embedding_.vectors)

    def test_the_graph_is_stored_if_asked_for(self, path):
        model = MODELS["default"].fit(KARATE)
        model.save(path)
        assert not hasattr(BoostNE.load(path), "graph_")
        model.save(path, graph=KARATE)
        assert BoostNE.load(path).graph_.fingerprint() == KARATE.fingerprint()
        with pytest.raises(GraphError, match="fitted to another graph"):
            model.save(path, graph=graphs.star())

    @pytest.mark.parametrize("ids", ["strings", "tuples"])
    def test_ids_survive(self, ids, path):
        nodes = np.empty(34, object)
        nodes[:] = [f"n{i}" if ids == "strings" else ("n", i) for i in range(34)]
        model = BoostNE(8, levels=2).fit(Graph(KARATE.adjacency, nodes))
        model.save(path)
        assert BoostNE.load(path).embedding_.nodes.tolist() == model.embedding_.nodes.tolist()

    def test_a_matrix_of_ones_own(self, path):
        X = KARATE.adjacency @ KARATE.adjacency
        for connectivity in (X, lambda graph: graph.adjacency @ graph.adjacency):
            model = BoostNE(8, levels=2, connectivity=connectivity).fit(KARATE)
            model.save(path)
            loaded = BoostNE.load(path)
            np.testing.assert_array_equal(loaded.transform(KARATE), model.embedding_.vectors)
            larger = Graph.from_edges(*np.array([*graphs.edges(KARATE), (34, 0)]).T[:2])
            with pytest.raises(ParameterError, match="its rows for other nodes are needed"):
                loaded.transform(larger)

    def test_the_same_model_gives_the_same_bytes(self, path, tmp_path):
        for target in (path, tmp_path / "again.npz"):
            MODELS["default"].fit(KARATE).save(target)
        with np.load(path) as one, np.load(tmp_path / "again.npz") as other:
            assert one["sha256"] == other["sha256"]


class TestErrors:
    @pytest.fixture
    def saved(self, path):
        MODELS["default"].fit(KARATE).save(path)
        return path

    def test_suffix(self, tmp_path):
        with pytest.raises(ParameterError, match=r"the suffix of a model must be .npz, got '.pkl'"):
            MODELS["default"].fit(KARATE).save(tmp_path / "model.pkl")
        with pytest.raises(ParameterError, match="got 'none'"):
            BoostNE.load(tmp_path / "model")

    def test_missing_file(self, path):
        with pytest.raises(FileNotFoundError):
            BoostNE.load(path)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
    def test_truncated(self, saved, share):
        content = saved.read_bytes()
        saved.write_bytes(content[: int(share * len(content))])
        with pytest.raises(FileFormatError, match=str(saved)):
            BoostNE.load(saved)

    def test_every_changed_byte_is_noticed(self, saved):
        content = saved.read_bytes()
        model = MODELS["default"].fit(KARATE)
        for at in np.random.default_rng(0).integers(len(content), size=150).tolist():
            saved.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
            try:
                loaded = BoostNE.load(saved)
            except FileFormatError:
                continue
            # Bytes that nothing depends on, such as the time stamps of a ZIP file.
            np.testing.assert_array_equal(loaded.embedding_.vectors, model.embedding_.vectors)
            np.testing.assert_array_equal(loaded.context_, model.context_)

    def test_another_checksum(self, saved):
        with np.load(saved) as file:
            arrays = dict(file)
        arrays["vectors"] = arrays["vectors"] + 1
        np.savez(saved, **arrays)
        with pytest.raises(FileFormatError, match="its checksum does not match its content"):
            BoostNE.load(saved)

    def test_an_embedding_is_no_model(self, path):
        MODELS["default"].fit(KARATE).embedding_.save(path)
        with pytest.raises(FileFormatError, match="an embedding, not a model; 'boostne embed --model'"):
            BoostNE.load(path)

    def test_foreign_files(self, path):
        np.savez(path, a=np.arange(3))
        with pytest.raises(FileFormatError, match="another file, not a model"):
            BoostNE.load(path)
        np.savez(path, model=np.array("[1, 2]"), sha256=np.array(""))
        with pytest.raises(FileFormatError, match="not a model of boostne"):
            BoostNE.load(path)
        path.write_text("no archive")
        with pytest.raises(FileFormatError, match=r"cannot be read as an .npz file"):
            BoostNE.load(path)

    def test_newer_version(self, saved):
        change_header(saved, format=2, boostne="9.0")
        with pytest.raises(FileFormatError, match=r"written by boostne 9.0 in format 2.*upgrade boostne"):
            BoostNE.load(saved)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"method": "NetMF"}, "a model of NetMF, not of BoostNE"),
            ({"parameters": {"connectivity": "deepwalk", "depth": 3}}, "depth"),
            ({"connectivity": {"name": "NoMatrix"}}, "NoMatrix"),
            ({"fitted": {}}, "approximation_"),
            ({"fitted": {"approximation_": "push", "settings_": {"propagation": 2}}}, "propagation"),
            ({"fitted": []}, "list indices"),
            ({"graph": {"directed": False}}, "missing"),
            ({"graph": {"directed": True}}, "directed=True, no sides, no target vectors"),
            ({"graph": {"directed": 0}}, "directed=0"),
        ],
    )
    def test_invalid_headers(self, saved, changes, message):
        change_header(saved, **changes)
        with pytest.raises(FileFormatError, match=message):
            BoostNE.load(saved)

    @pytest.mark.parametrize(
        "name", ["context", "neighborhoods", "sketches", "staleness", "objective1", "nodes", "vectors"]
    )
    def test_missing_arrays(self, saved, name):
        rewrite(saved, **{name: None})
        with pytest.raises(FileFormatError, match=name):
            BoostNE.load(saved)

    def test_wrong_shapes(self, saved):
        rewrite(saved, context=np.zeros((3, 8), np.float32))
        with pytest.raises(FileFormatError, match=r"'context' has shape \(3, 8\) of float32"):
            BoostNE.load(saved)

    @pytest.mark.parametrize("name", ["context", "sketches", "staleness"])
    def test_infinite_values(self, saved, name):
        with np.load(saved) as file:
            array = file[name].copy()
        array.flat[0] = np.inf
        rewrite(saved, **{name: array})
        with pytest.raises(FileFormatError, match=f"the array '{name}' must be finite"):
            BoostNE.load(saved)

    def test_objects_are_not_loaded(self, saved):
        rewrite(saved, extra=None)
        with np.load(saved) as file:
            arrays = dict(file)
        np.savez(saved, **arrays, extra=np.array([{}], dtype=object))
        with pytest.raises(FileFormatError, match="allow_pickle=False"):
            BoostNE.load(saved)

    def test_an_interrupted_save_leaves_the_old_file(self, saved, monkeypatch):
        before = saved.read_bytes()

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(np, "savez", interrupted)
        with pytest.raises(KeyboardInterrupt):
            MODELS["default"].fit(graphs.karate()).save(saved)
        assert saved.read_bytes() == before
        assert [one.name for one in saved.parent.iterdir()] == [saved.name]
