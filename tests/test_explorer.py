"""The explorer's layouts, neighbors, packed arrays and pages, without a browser."""

import base64
import re
import zlib

import numpy as np
import pytest

from boostne import Embedding, Graph, planted_partition
from boostne.errors import ParameterError
from boostne.labels import as_labels
from boostne.visualization.explorer import arrays, page, write_explorer_page
from boostne.visualization.explorer.content import collect_content
from boostne.visualization.explorer.landmarks import align, choose_landmarks, landmark_layout, principal_layout
from boostne.visualization.explorer.layouts import ProgressiveLayouts, level_layouts
from boostne.visualization.explorer.neighbors import nearest_neighbors
from boostne.visualization.explorer.packing import PackedArray, morton_order, to_map_grid


def blobs(n=120, d=9, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    return (5 * np.eye(d)[group] + rng.random((n, d))).astype(np.float32), group


def oracle(vectors, count):
    embedding = Embedding(range(len(vectors)), vectors)
    return [embedding.most_similar(row, count) for row in range(len(vectors))]


@pytest.mark.parametrize("n", [1, 2, 5, 11, 300, 700, 2600])
def test_neighbors_equal_most_similar(n):
    vectors = np.random.default_rng(n).standard_normal((n, 6)).astype(np.float32)
    rows, similarities = nearest_neighbors(vectors, 10)
    assert rows.shape == similarities.shape == (n, min(10, n - 1))
    step = max(n // 100, 1)
    embedding = Embedding(range(n), vectors)
    for row in range(0, n, step):
        expected = embedding.most_similar(row, 10)
        assert list(zip(rows[row].tolist(), similarities[row].tolist(), strict=True)) == expected


@pytest.mark.parametrize("n", [40, 1500])
def test_neighbors_of_equal_and_of_zero_vectors_keep_the_order_of_nodes(n):
    vectors = np.random.default_rng(0).integers(0, 2, (n, 3)).astype(np.float64)
    vectors[::7] = 0
    rows, similarities = nearest_neighbors(vectors, 4)
    for row in range(0, n, max(n // 60, 1)):
        assert list(zip(rows[row].tolist(), similarities[row].tolist(), strict=True)) == Embedding(
            range(n), vectors
        ).most_similar(row, 4)


def test_neighbors_of_vectors_whose_squares_overflow():
    vectors = np.array([[1e200, 1e200], [1e200, 0.0], [1e-200, 1e-200], [0.0, 1.0]])
    assert nearest_neighbors(vectors, 2)[0].tolist() == [[r for r, _ in row] for row in oracle(vectors, 2)]


def unpacked(text, described):
    """Decode as data.js does."""
    size = int(described["kind"][1])
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(size, -1)
    values = np.ascontiguousarray(planes.T).view(f"u{size}").reshape(-1, described["columns"])
    if described["differences"] or described["kind"][0] == "i":
        values = (values >> 1) ^ (0 - (values & 1)).astype(values.dtype)
    if described["differences"]:
        values = np.cumsum(values, axis=0, dtype=values.dtype)
    return values.view(described["kind"])


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "i2", "i4"])
@pytest.mark.parametrize("differences", [False, True])
def test_packed_arrays_can_be_unpacked(kind, differences):
    limits = np.iinfo(kind)
    values = np.random.default_rng(0).integers(limits.min, limits.max, (50, 3), dtype=kind, endpoint=True)
    values[0], values[1] = limits.min, limits.max
    packed = PackedArray(values, differences)
    assert packed.described() == {"kind": kind, "columns": 3, "differences": differences}
    assert np.array_equal(unpacked(packed.to_text(), packed.described()), values)
    assert np.array_equal(np.frombuffer(packed.to_bytes(), dtype=f"<{kind}").reshape(50, 3), values)


def test_map_grid_keeps_the_aspect_ratio_and_moves_outliers_to_the_border():
    positions = np.random.default_rng(0).uniform(0, (4, 2), (5000, 2))
    positions[0] = 1000, 1000
    grid = to_map_grid(positions).astype(float)
    assert grid[0].tolist() == [65535, 65535]
    assert np.ptp(grid[1:, 0]) == pytest.approx(2 * np.ptp(grid[1:, 1]), rel=0.02)
    assert np.ptp(grid[1:, 0]) > 0.9 * 65535
    assert to_map_grid(np.zeros((3, 2))).tolist() == [[32768, 32768]] * 3


def test_morton_order_visits_each_quarter_as_a_whole():
    grid = np.random.default_rng(0).integers(0, 65536, (400, 2)).astype(np.uint16)
    quarters = (grid[morton_order(grid)] >> 15) @ [1, 2]
    assert (np.diff(quarters.astype(int)) >= 0).all()


def test_align_undoes_rotation_reflection_scale_and_shift():
    reference = np.random.default_rng(0).standard_normal((30, 2))
    turn = np.array([[np.cos(2), np.sin(2)], [np.sin(2), -np.cos(2)]])
    assert np.allclose(align(7 * reference @ turn + [3, -5], reference), reference)


def test_level_layouts_resemble_that_of_all_levels():
    vectors, _ = blobs()
    embedding = Embedding(range(120), vectors, [5, 4])
    whole, *levels = level_layouts(embedding, seed=1)
    again = level_layouts(embedding, seed=1)
    assert all(np.array_equal(one, other) for one, other in zip([whole, *levels], again, strict=True))
    assert len(levels) == 2
    radius = np.linalg.norm(whole - whole.mean(axis=0), axis=1).mean()
    independent = landmark_layout(embedding.level(1), np.arange(120), seed=1)
    moved = np.linalg.norm(levels[0] - whole, axis=1).mean()
    assert moved < radius
    assert moved < np.linalg.norm(independent - whole, axis=1).mean()


def test_one_layout_without_levels():
    assert len(level_layouts(Embedding(range(120), blobs()[0]), seed=0)) == 1


def test_nodes_other_than_landmarks_are_placed_with_their_group():
    vectors, group = blobs(n=600)
    chosen = np.sort(np.random.default_rng(3).permutation(600)[:150])
    positions = landmark_layout(vectors, chosen, seed=0)
    centers = np.array([positions[chosen][group[chosen] == g].mean(axis=0) for g in range(3)])
    nearest = np.linalg.norm(positions[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.99
    assert len(np.unique(positions, axis=0)) == 600
    assert np.array_equal(positions, landmark_layout(vectors, chosen, seed=0))


def test_large_embeddings_are_sampled():
    chosen = choose_landmarks(200, seed=4, limit=50)
    assert len(chosen) == 50
    assert (np.diff(chosen) > 0).all()
    assert set(choose_landmarks(200, seed=4, limit=20)) < set(chosen)
    assert np.array_equal(choose_landmarks(30, seed=4, limit=50), np.arange(30))


def test_principal_layout_separates_groups():
    vectors, group = blobs(groups=2)
    positions = principal_layout(vectors, np.arange(0, 120, 3))
    assert ((positions[:, 0] > positions[:, 0].mean()) == (group == group[positions[:, 0].argmax()])).all()
    assert principal_layout(np.ones((4, 1)), np.arange(4)).tolist() == [[0, 0]] * 4


def test_progressive_layouts_end_as_the_final_ones():
    import threading

    embedding = Embedding(range(120), blobs()[0], [5, 4])
    layouts = ProgressiveLayouts(embedding, seed=1)
    first = [layouts.grid(level) for level in range(3)]
    assert layouts.refined_levels() == []
    layouts.refine(threading.Event())
    assert layouts.refined_levels() == [0, 1, 2]
    for level, final in enumerate(level_layouts(embedding, seed=1)):
        assert np.array_equal(layouts.grid(level), to_map_grid(final))
        assert not np.array_equal(layouts.grid(level), first[level])


def test_progressive_layouts_stop_when_told():
    import threading

    layouts = ProgressiveLayouts(Embedding(range(120), blobs()[0]), seed=1)
    stop = threading.Event()
    stop.set()
    layouts.refine(stop)
    assert layouts.refined_levels() == []


def test_colored_labels_are_in_natural_order_and_others_by_frequency():
    names = [f"c{i}" for i in range(25) for _ in range(1 if i < 5 else 2)] + ["c4"]
    content = collect_content(Embedding(range(len(names)), np.ones((len(names), 1))), as_labels(names), None)
    assert content.classes == [f"c{i}" for i in range(4, 24)] + ["c24", "c0", "c1", "c2", "c3"]


def test_content_matches_labels_and_graph_by_id():
    embedding = Embedding(["a", "b", "c", "d"], np.eye(4))
    labels = as_labels({"b": ["x", "y"], "a": "y", "zoe": "x", "yan": "z"})
    graph = Graph.from_edges(["a", "b", "q"], ["b", "c", "a"])
    content = collect_content(embedding, labels, graph)
    assert content.classes == ["x", "y"]
    assert content.label_matrix.toarray().tolist() == [[False, True], [True, True], [False, False], [False, False]]
    assert content.graph.degrees.tolist() == [1, 2, 1, 0]
    assert content.graph.communities.tolist() == [0, 0, 0, 1]
    assert content.notes == [
        "2 nodes with labels are not in the embedding.",
        "2 nodes without a label.",
        "1 node of the graph is not in the embedding.",
        "1 node of the embedding is not in the graph.",
    ]


def test_labels_of_other_nodes_only_raise():
    with pytest.raises(ParameterError, match="none of the labeled nodes is in the embedding"):
        collect_content(Embedding(["1", "2"], np.eye(2)), as_labels({1: "x", 2: "y"}))
    assert collect_content(Embedding([1], np.eye(1)), as_labels({1: []})).classes == []


def test_directed_graphs_show_edges_in_both_directions():
    content = collect_content(Embedding([0, 1], np.eye(2)), graph=Graph.from_edges([0], [1], directed=True))
    assert content.graph.degrees.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0, set()),
        (3, {(0, 2), (0, 1), (0, 3)}),  # the heaviest edge of each node
        (4, {(0, 2), (0, 1), (0, 3), (1, 2)}),
        (5, {(0, 2), (0, 1), (0, 3), (1, 2), (4, 4)}),
    ],
)
def test_edges_in_a_page_are_limited_to_the_heaviest(monkeypatch, limit, expected):
    graph = Graph.from_edges([0, 0, 0, 1, 4], [1, 2, 3, 2, 4], [1.5, 3.0, 2.0, 1.0, 1.0], self_loops="keep")
    if limit < 5:
        graph = Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], [1.5, 3.0, 2.0, 1.0], nodes=range(5))
    content = collect_content(Embedding(range(5), np.eye(5)), graph=graph)
    order = np.array([2, 4, 0, 3, 1])
    monkeypatch.setattr(arrays, "MAX_PAGE_EDGES", limit)
    packed = arrays.edge_arrays(content.graph, order)
    counts, offsets = packed["edge_counts"].values, packed["edge_offsets"].values
    sources = np.repeat(np.arange(5), counts)
    pairs = np.sort(np.column_stack([order[sources], order[sources + offsets]]), axis=1)
    assert sorted(map(tuple, pairs.tolist())) == sorted(expected)


def described_page(path):
    import json

    text = path.read_text()
    return text, json.loads(re.search(r'id="description">(.*?)</script>', text, re.DOTALL).group(1))


def test_page_has_all_arrays_and_no_addresses(tmp_path):
    data = planted_partition(60, communities=2)
    vectors = np.random.default_rng(0).random((60, 6))
    embedding = Embedding(data.graph.nodes, vectors, [4, 2])
    path = tmp_path / "page.html"
    write_explorer_page(path, embedding, data.labels, data.graph, title="planted")
    text, description = described_page(path)
    names = set(re.findall(r'id="data-([^"]+)"', text))
    assert names == set(description["arrays"]) | {"ids"}
    assert {f"positions-{level}" for level in range(3)} | {f"component-{j}" for j in range(6)} <= names
    assert description["columns"] == ["u1_1", "u1_2", "u1_3", "u1_4", "u2_1", "u2_2"]
    assert "http://" not in text
    assert "https://" not in text
    write_explorer_page(tmp_path / "again.html", embedding, data.labels, data.graph, title="planted")
    assert (tmp_path / "again.html").read_bytes() == path.read_bytes()


def test_page_without_levels_labels_or_graph(tmp_path):
    path = tmp_path / "page.html"
    write_explorer_page(path, Embedding(["only"], [[1.0, 2.0]]))
    _, description = described_page(path)
    assert description["columns"] == ["1", "2"]
    assert not {"degrees", "label_counts", "positions-1"} & set(description["arrays"])


def test_page_with_a_graph_that_shares_no_node(tmp_path):
    path = tmp_path / "page.html"
    write_explorer_page(path, Embedding(["a", "b"], np.eye(2)), graph=Graph.from_edges([0], [1]))
    text, description = described_page(path)
    assert "2 nodes of the embedding are not in the graph." in description["notes"]
    packed = re.search(r'id="data-edge_offsets"[^>]*>([^<]*)<', text).group(1)
    assert unpacked(packed, description["arrays"]["edge_offsets"]).shape == (0, 1)


def test_embeddings_too_large_or_empty_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MAX_PAGE_NODES", 3)
    with pytest.raises(ParameterError, match=r"at most 3 nodes, got 4; 'boostne explore' without -o"):
        write_explorer_page(tmp_path / "page.html", Embedding(range(4), np.eye(4)))
    with pytest.raises(ParameterError, match="the embedding has no nodes"):
        write_explorer_page(tmp_path / "page.html", Embedding([], np.empty((0, 2))))
    assert list(tmp_path.iterdir()) == []
