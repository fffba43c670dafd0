"""The explorer: a page of 100,000 nodes and the server with a million, in Chromium with software rendering.

The vectors have 8 levels of 16 components. Those of the page are BoostNE's, of a planted partition; those of the server
are random around 50 centers, because only their number matters. Before anything is timed, the neighbors in the page are
compared with ``Embedding.most_similar``.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.browser import SOFTWARE_WEBGL, launch, until
from benchmarks.common import save, show
from boostne import BoostNE, Embedding, planted_partition
from boostne.visualization import write_explorer_page

PAGE_NODES, SERVED_NODES = 100_000, 1_000_000
LEVELS = [16] * 8
WINDOW = {"width": 1280, "height": 860}
PANNED_MS = 4000
READY = "window.explorer?.ready === true && window.explorer.view.frames > 0"
TARGETS = {"build_s": 120, "megabytes": 12, "ready_s": 5, "first_frame_s": 2, "frames_per_second": 30}
PAN = """async (duration) => {
  const { view } = explorer;
  const [begin, frames] = [performance.now(), view.frames];
  let steps = 0;
  while (performance.now() - begin < duration) {
    view.camera.pan(steps++ % 40 < 20 ? 6 : -6, 0);
    view.moved();
    await new Promise(requestAnimationFrame);
  }
  return { rate: 1000 * (view.frames - frames) / (performance.now() - begin), share: 1 / view.step };
}"""


def run() -> None:
    """Measure the page and the server."""
    with tempfile.TemporaryDirectory() as folder, launch(*SOFTWARE_WEBGL) as browser:
        rows = [page_row(browser, Path(folder)), server_row(browser, Path(folder))]
    show("Explorer", rows)
    save("explore", rows, targets=TARGETS, rendering="software (SwiftShader), device pixel ratio 1", window=WINDOW)


def page_row(browser: Any, folder: Path) -> dict[str, Any]:
    """Write a page, check its neighbors, and measure it."""
    data = planted_partition(PAGE_NODES)
    embedding = BoostNE(dimensions=sum(LEVELS), levels=len(LEVELS)).fit(data.graph).embedding_
    path = folder / "page.html"
    begin, cpu = time.perf_counter(), time.process_time()
    write_explorer_page(path, embedding, data.labels, data.graph)
    build, build_cpu = time.perf_counter() - begin, time.process_time() - cpu
    page = browser.new_page(viewport=WINDOW)
    page.goto(path.as_uri())
    until(page, READY, value=True)
    check_neighbors(page, embedding)
    return {
        "what": "page",
        "nodes": PAGE_NODES,
        "build_s": build,
        "build_cpu_s": build_cpu,
        "megabytes": path.stat().st_size / 1e6,
        "ready_s": float("nan"),
        "ready_cpu_s": float("nan"),
        **shown(page),
    }


def check_neighbors(page: Any, embedding: Embedding) -> None:
    """Compare the neighbors of some nodes."""
    script = """async (id) => {
      const found = await explorer.source.neighbors(explorer.ids.indexOf(id));
      return found.map(([row]) => explorer.ids[row]);
    }"""
    for row in np.random.default_rng(0).choice(len(embedding), 20, replace=False):
        node = embedding.nodes.tolist()[row]
        assert page.evaluate(script, str(node)) == [str(other) for other, _ in embedding.most_similar(node, 10)]


def server_row(browser: Any, folder: Path) -> dict[str, Any]:
    """Start the server in a process of its own and measure it."""
    rng = np.random.default_rng(0)
    centers = rng.random((50, sum(LEVELS)), dtype=np.float32)
    vectors = centers[rng.integers(50, size=SERVED_NODES)]
    vectors += 0.3 * rng.random(vectors.shape, dtype=np.float32)
    path = folder / "vectors.npz"
    Embedding(np.arange(SERVED_NODES), vectors, LEVELS).save(path)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "boostne", "explore", str(path), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        ready, ready_cpu = time.perf_counter() - begin, cpu_seconds(server.pid)
        page = browser.new_page(viewport=WINDOW)
        page.goto(address)
        until(page, READY, value=True)
        row = {
            "what": "server",
            "nodes": SERVED_NODES,
            "build_s": float("nan"),
            "build_cpu_s": float("nan"),
            "megabytes": path.stat().st_size / 1e6,
            "ready_s": ready,
            "ready_cpu_s": ready_cpu,
            **shown(page),
        }
        page.close()
        server.terminate()
    return row


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def shown(page: Any) -> dict[str, float]:
    """Return the time from the request to the first frame, and the frames per second while panning.

    On a slow machine only a part of the nodes is drawn while the map moves: "drawn" is their share.
    """
    panned = page.evaluate(PAN, PANNED_MS)
    return {
        "first_frame_s": page.evaluate("explorer.view.firstFrame") / 1000,
        "frames_per_second": panned["rate"],
        "drawn_while_panning": panned["share"],
    }
