"""Skip-gram: edge samples per second, and DeepWalk compared with gensim on the same walks, with F1."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import dataset_graph, save, show, timed
from benchmarks.peers import gensim_deepwalk
from boostne import DeepWalk, Graph, evaluate, load_dataset
from boostne.kernels import available_threads, get_kernels
from boostne.kernels.skipgram import Noise, SkipGram, number_of_parts
from boostne.models.line import edges_of
from boostne.sampling.walks import walk_chunks

DATASET = "blogcatalog"
SAMPLES = 20_000_000
TRAIN = 50
WALKS, LENGTH = 10, 80


def run() -> None:
    """Measure both with one thread and with all."""
    samples = [edge_samples(order, threads) for order in ("first", "second") for threads in thread_counts()]
    show("LINE: edge samples, d = 64, 5 negatives", samples)
    walks = [deepwalk(threads) for threads in thread_counts()] + [gensim(available_threads())]
    for row in walks:
        row["gensim_time_ratio"] = walks[-1]["seconds"] / row["seconds"]
    show(f"DeepWalk on {DATASET}, d = 128, {WALKS} walks of {LENGTH} nodes; Micro-F1 at {TRAIN} %", walks)
    save("skipgram", [*samples, *walks], dataset=DATASET, walks=WALKS, length=LENGTH)


def thread_counts() -> list[int]:
    """Return one and the number of available threads."""
    return sorted({1, available_threads()})


def edge_samples(order: str, threads: int) -> dict[str, Any]:
    """Train one order of LINE."""
    graph = dataset_graph(DATASET)
    noise = Noise.of(graph.degrees, number_of_parts(graph.n_nodes, SAMPLES), seed=0)
    model = SkipGram.start(noise, 64, negative=5, shared=order == "first", seed=0)
    edges, kernels = edges_of(graph), get_kernels(threads=threads)
    seconds, _ = timed(lambda: kernels.train_edges(model, edges, SAMPLES, rates=(0.05, 0.0001), seed=1))
    return {"order": order, "threads": threads, "seconds": seconds, "M_samples_per_s": SAMPLES / seconds / 1e6}


def deepwalk(threads: int) -> dict[str, Any]:
    """Time our DeepWalk from graph to vectors."""
    return scored("boostne", threads, DeepWalk(walks=WALKS, length=LENGTH, threads=threads).fit_transform)


def gensim(threads: int) -> dict[str, Any]:
    """Train gensim on our walks with the same parameters; the time includes the walks, but not their conversion."""
    seconds, chunks = timed(lambda: list(walk_chunks(dataset_graph(DATASET), walks=WALKS, length=LENGTH)))
    sentences = np.concatenate(chunks).tolist()
    row = scored("gensim", threads, lambda graph: gensim_deepwalk(sentences, graph.n_nodes, 128, threads))
    return {**row, "seconds": row["seconds"] + seconds}


def scored(name: str, threads: int, embed: Callable[[Graph], NDArray[Any]]) -> dict[str, Any]:
    """Time and score an embedding."""
    data = load_dataset(DATASET)
    seconds, vectors = timed(lambda: embed(data.graph))
    scores = evaluate((data.graph.nodes, vectors), data.labels, train=TRAIN, repeats=3)
    return {
        "by": name,
        "threads": threads,
        "seconds": seconds,
        "micro": float(scores.mean("micro")[0]),
        "macro": float(scores.mean("macro")[0]),
    }
