"""Random walks on blogcatalog: steps per second, compared with plain Python and fastnode2vec."""

import random
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.common import dataset_graph, save, show, timed
from boostne import Graph
from boostne.kernels import available_threads, get_kernels
from boostne.sampling.walks import walk_chunks

LENGTH = 80
WALKS = 2
REPEATS = 3
# Walks of the slower implementations, by whether the walk is biased.
PEER_WALKS = {True: 60, False: 1000}
SETTINGS = ((1.0, 1.0), (0.25, 4.0))


def run() -> None:
    """Check that walks do not depend on the number of threads, then time all implementations."""
    plain = dataset_graph("blogcatalog")
    rows = []
    for graph in (plain, with_weights(plain)):
        for p, q in SETTINGS:
            ours = {threads: measure(graph, p, q, threads) for threads in (1, available_threads())}
            first, last = ours[1], ours[available_threads()]
            assert first[1] == last[1], "the walks depend on the number of threads"
            loop, peer = python_steps(graph, p, q), peer_steps(graph, p, q)
            rows.append(
                {
                    "weights": "random" if graph.weighted else "none",
                    "p": p,
                    "q": q,
                    "M_steps/s": last[0] / 1e6,
                    "ns/step_1_thread": 1e9 / first[0],
                    "python_M_steps/s": loop / 1e6,
                    "times_python": last[0] / loop,
                    "fastnode2vec_M_steps/s": peer / 1e6,
                    "times_fastnode2vec": last[0] / peer,
                    "times_fastnode2vec,_1_thread": first[0] / peer,
                }
            )
    show(f"Random walks on blogcatalog, {WALKS} of {LENGTH} nodes from each node (median of {REPEATS})", rows)
    save("walks", rows, threads=available_threads(), length=LENGTH, walks=WALKS, repeats=REPEATS)


def with_weights(graph: Graph) -> Graph:
    """Return the graph with random weights between 0.1 and 1.1."""
    A = graph.adjacency.tocoo()
    upper = A.row < A.col
    weights = 0.1 + np.random.default_rng(0).random(int(upper.sum()))
    return Graph.from_indices(graph.nodes, A.row[upper], A.col[upper], weights)


def measure(graph: Graph, p: float, q: float, threads: int) -> tuple[float, int]:
    """Return steps per second, and a checksum of the walks."""
    kernels = get_kernels(threads=threads)

    def work() -> tuple[int, int]:
        steps = total = 0
        for chunk in walk_chunks(graph, walks=WALKS, length=LENGTH, p=p, q=q, kernels=kernels):
            steps += chunk.shape[0] * (LENGTH - 1)
            total += int(chunk[:, -1].sum())
        return steps, total

    seconds, (steps, total) = timed(work, REPEATS)
    return steps / seconds, total


def steps_per_second(walk: Callable[[int], object], n_nodes: int, biased: bool) -> float:
    """Return the steps per second of a function that walks from a node, for evenly spaced nodes."""
    starts = np.linspace(0, n_nodes - 1, PEER_WALKS[biased]).astype(int).tolist()
    seconds, _ = timed(lambda: [walk(start) for start in starts], REPEATS)
    return len(starts) * (LENGTH - 1) / seconds


def python_steps(graph: Graph, p: float, q: float) -> float:
    """Return the steps per second of adjacency lists and ``random.choices``, as in pure Python packages."""
    A = graph.adjacency
    neighbors = [row.tolist() for row in np.split(A.indices, A.indptr[1:-1])]
    weights = [row.tolist() for row in np.split(A.data, A.indptr[1:-1])]
    known = [set(row) for row in neighbors]
    # Evaluated once: the property reads every edge.
    weighted, second_order = graph.weighted, p != 1 or q != 1

    def biased(t: int, v: int) -> int:
        chances = [
            w * (1 / p if x == t else 1 if x in known[t] else 1 / q)
            for x, w in zip(neighbors[v], weights[v], strict=True)
        ]
        return random.choices(neighbors[v], chances)[0]

    def walk(start: int) -> list[int]:
        nodes = [start]
        while len(nodes) < LENGTH:
            v = nodes[-1]
            if second_order and len(nodes) > 1:
                nodes.append(biased(nodes[-2], v))
            elif weighted:
                nodes.append(random.choices(neighbors[v], weights[v])[0])
            else:
                nodes.append(random.choice(neighbors[v]))
        return nodes

    return steps_per_second(walk, graph.n_nodes, second_order)


def peer_steps(graph: Graph, p: float, q: float) -> float:
    """Return the steps per second of fastnode2vec, which is single-threaded, after compilation."""
    from fastnode2vec import Graph as PeerGraph

    A = graph.adjacency.tocoo()
    upper = A.row < A.col
    columns = (A.row[upper], A.col[upper], A.data[upper])[: 3 if graph.weighted else 2]
    edges = list(zip(*(column.tolist() for column in columns), strict=True))
    peer = PeerGraph(edges, directed=False, weighted=graph.weighted, verbose=False)
    peer.generate_random_walk(LENGTH, p, q, 0)
    walk = partial(peer.generate_random_walk, LENGTH, p, q)
    return steps_per_second(walk, graph.n_nodes, p != 1 or q != 1)
