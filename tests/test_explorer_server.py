"""The explorer's server and the command that starts it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from benchmarks.browser import SOFTWARE_WEBGL, until
from tests.browser import DESKTOP, launch, open_address
from tests.processes import start_python

from boostne import BoostNE, Graph, load_dataset
from boostne.cli.program import run
from boostne.errors import BoostneError
from boostne.visualization.explorer import ExplorerServer, server
from boostne.visualization.explorer.layouts import level_layouts
from boostne.visualization.explorer.packing import to_map_grid

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


@pytest.fixture(scope="module")
def data():
    found = load_dataset("karate")
    return BoostNE(dimensions=6, levels=2).fit(found.graph).embedding_, found.labels, found.graph


@contextmanager
def serving(*arguments, **settings):
    with ExplorerServer(*arguments, **settings) as running:
        thread = threading.Thread(target=running.serve)
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def running(data):
    with serving(*data, title="karate", seed=1) as one:
        yield one


def get(address, path="", host=None):
    """Return the status, the headers and the content of a response."""
    _, _, authority, token, _ = address.split("/")
    connection = http.client.HTTPConnection(authority, timeout=60)
    connection.request("GET", path if path.startswith("/") else f"/{token}/{path}", headers={"Host": host or authority})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, dict(response.getheaders()), content


def test_page_is_served_with_a_strict_policy(running):
    status, headers, content = get(running.address)
    assert status == 200
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', content.decode()).group(1)
    assert "default-src &#x27;none&#x27;" in policy
    assert "connect-src &#x27;self&#x27;" in policy
    assert "unsafe-eval" not in policy


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/ids", "//ids", "/%00/", "/favicon.ico"])
def test_requests_without_the_token_are_refused(running, path):
    status, _, content = get(running.address, path)
    assert status == 403
    assert b"token" in content


def test_token_is_long_and_new_each_time(data, running):
    token = running.address.split("/")[3]
    assert len(token) >= 24
    status, _, _ = get(running.address, f"/{token[:-1]}/ids")
    assert status == 403
    with ExplorerServer(data[0]) as other:
        assert other.address.split("/")[3] != token


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80"])
def test_requests_for_another_host_are_refused(running, host):
    status, _, content = get(running.address, "ids", host=host)
    assert status == 403
    assert b"another host" in content


def test_localhost_is_accepted(running):
    port = running.address.split(":")[2].split("/")[0]
    assert get(running.address, "ids", host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize(
    "path", ["nothing", "positions-3", "positions-x", "component-6", "strongest/34", "neighbors/34", "edges/34", "../x"]
)
def test_unknown_paths_are_not_found(running, path):
    assert get(running.address, path)[0] == 404


def test_arrays_are_those_of_the_embedding(running, data):
    embedding, labels, graph = data
    assert json.loads(get(running.address, "ids")[2]) == [str(node) for node in embedding.nodes]
    degrees = np.frombuffer(get(running.address, "degrees")[2], dtype=np.uint8)
    assert degrees.tolist() == graph.degrees.astype(int).tolist()
    values = np.frombuffer(get(running.address, "component-2")[2], dtype=np.uint8)
    column = embedding.vectors[:, 2]
    assert np.allclose(values / 255, (column - column.min()) / np.ptp(column), atol=0.003)
    counts = np.frombuffer(get(running.address, "label_counts")[2], dtype=np.uint8)
    assert counts.tolist() == [len(labels[node]) for node in embedding.nodes.tolist()]
    strongest = json.loads(get(running.address, "strongest/5")[2])
    assert [column for column, _ in strongest] == np.argsort(-embedding.vectors[5], kind="stable")[:3].tolist()
    assert json.loads(get(running.address, "edges/5")[2]) == graph.adjacency[[5]].indices.tolist()


def test_neighbors_equal_most_similar(running, data):
    for row in (0, 33):
        found = json.loads(get(running.address, f"neighbors/{row}")[2])
        nodes = data[0].nodes.tolist()
        assert [(nodes[neighbor], similarity) for neighbor, similarity in found] == data[0].most_similar(nodes[row], 10)


def test_other_requests_are_refused(running):
    _, _, authority, token, _ = running.address.split("/")
    connection = http.client.HTTPConnection(authority, timeout=60)
    connection.request("POST", f"/{token}/ids", body=b"x")
    assert connection.getresponse().status == 501
    connection.close()


def test_only_the_loopback_interface_is_used(running):
    assert running.address.startswith("http://127.0.0.1:")


def test_next_port_is_used_if_one_is_taken(data, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "DEFAULT_PORT", port)
        with ExplorerServer(data[0]) as one:
            assert int(one.address.split(":")[2].split("/")[0]) > port
        with pytest.raises(BoostneError, match=rf"cannot listen on 127.0.0.1: port {port} in use .* --port"):
            ExplorerServer(data[0], port=port)


def test_map_improves_in_the_browser(data):
    with launch(*SOFTWARE_WEBGL) as browser, serving(*data, seed=1) as one:
        context = browser.new_context(viewport=DESKTOP)
        page = open_address(context, one.address, allowed=(one.address, "data:"))
        until(page, "window.explorer?.ready === true", True)
        until(page, "document.getElementById('message').hidden", True)
        until(page, "explorer.view.moving", False)
        for level, layout in enumerate(level_layouts(data[0], seed=1)):
            page.evaluate(f"explorer.control.set({level})")
            until(page, "[explorer.view.level, explorer.view.moving].join()", f"{level},false")
            assert page.evaluate("[...explorer.view.end]") == to_map_grid(layout).ravel().tolist()
        page.evaluate("explorer.select(3)")
        until(page, "document.querySelectorAll('.neighbors li').length", 10)
        expected = [str(node) for node, _ in data[0].most_similar(data[0].nodes.tolist()[3], 10)]
        assert page.locator(".neighbors .label").all_inner_texts() == expected
        assert page.faults == []
        context.close()


@pytest.fixture
def folder(tmp_path, data, monkeypatch):
    data[0].save(tmp_path / "karate.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_command_writes_a_page(folder, capsys, monkeypatch):
    read = []
    monkeypatch.setattr("boostne.datasets.load_dataset", lambda name: read.append(name) or load_dataset(name))
    assert run(["explore", "karate.npz", "--labels", "karate", "--graph", "karate", "-o", "map.html"]) == 0
    assert "written  map.html, 0." in capsys.readouterr().out
    text = (folder / "map.html").read_text()
    assert read == ["karate"]  # once, for labels and graph
    assert "<h1>karate.npz</h1>" in text
    assert 'id="data-edge_offsets"' in text
    assert 'id="data-label_counts"' in text


def test_command_counts_labeled_nodes_that_are_not_in_the_embedding(folder, capsys):
    (folder / "labels.txt").write_text("0 a\n1 b\n77 a\n")
    assert run(["explore", "karate.npz", "--labels", "labels.txt", "-o", "map.html"]) == 0
    notes = capsys.readouterr().err
    assert "note: 1 node with labels is not in the embedding" in notes
    assert "note: 32 nodes without a label" in notes


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.npz", "-o", "map.html"], 1, "none.npz"),
        (["karate.npz", "-o", "missing/map.html"], 1, "missing does not exist; create it first"),
        (["karate.npz", "-o", "karate.npz"], 1, "would overwrite karate.npz"),
        (["karate.npz", "-o", "map.html", "--labels", "karrate"], 1, "did you mean 'karate'"),
        (["karate.npz", "-o", "map.html", "--port", "9000"], 2, "give either --port or -o"),
        (["karate.npz", "--port", "99999"], 2, "--port"),
        (["karate.npz", "-o", "map.html", "--label-header"], 2, "--label-header needs --labels LABELS"),
        (["karate.npz", "-o", "map.html", "--no-weight"], 2, "--no-weight needs --graph GRAPH"),
        (["karate.npz", "-o", "map.html", "--to-undirected"], 2, "--to-undirected needs --graph GRAPH"),
        (["karate.npz", "-o", "map.html", "--seed", "-1"], 1, "--seed must be an integer of at least 0"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(folder, capsys, arguments, code, message):
    assert run(["explore", *arguments]) == code
    assert message in capsys.readouterr().err
    assert not (folder / "map.html").exists()


@needs_posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_signals_end_the_server(folder, number, code):
    process = start_python(
        "-m", "boostne", "explore", "karate.npz", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    address = process.stdout.readline().strip()
    assert get(address, "ids")[0] == 200
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(address.split(":")[2].split("/")[0]))) != 0


def test_graph_of_other_nodes_gives_no_edges(data):
    with serving(data[0], graph=Graph.from_edges(["x"], ["y"])) as one:
        assert json.loads(get(one.address, "edges/0")[2]) == []
