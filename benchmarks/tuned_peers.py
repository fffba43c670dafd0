"""BoostNE compared with other libraries by the nested protocol of ``boostne reproduce --parts tuned``.

Libraries that are not installed are skipped: pycleora, nodevectors (ProNE), scikit-network, gensim (DeepWalk).
``TUNED_PEERS_DATASETS=cora,wiki`` selects data sets.
"""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.common import save, show
from benchmarks.peers import gensim_deepwalk
from boostne import Embedding, Graph, compare, load_dataset
from boostne.datasets import Dataset
from boostne.evaluation import Evaluation, evaluate_nested
from boostne.kernels import available_threads
from boostne.reproduction import Protocol
from boostne.reproduction.tuned_comparison import FOLDS, CandidateFitter, find_candidates, unit_scale
from boostne.sampling.walks import walk_chunks

DATASETS = ("cora", "wiki", "ppi", "digits", "blogcatalog")
DIMENSIONS = 128
PROTOCOL = Protocol()

Embed = Callable[[Graph], NDArray[Any]]


def run() -> None:
    """Score each library on each data set, and test it against BoostNE."""
    chosen = os.environ.get("TUNED_PEERS_DATASETS")
    rows, tests = [], []
    for name in chosen.split(",") if chosen else DATASETS:
        data = load_dataset(name)
        results = {"BoostNE": nested(data, CandidateFitter(data, None).fit(find_candidates("BoostNE", 0)))}
        for title, (package, candidates) in PEERS.items():
            if find_spec(package) is None:
                print(f"tuned_peers: {package} is not installed; {title} is skipped")
                continue
            results[title] = nested(data, embed_all(data.graph, candidates))
        rows += [row for title, result in results.items() for row in score_rows(name, title, result)]
        tests += [
            row for title, result in results.items() for row in pair_test_rows(name, results["BoostNE"], title, result)
        ]
        save("tuned_peers", rows, tests=tests, strengths=PROTOCOL.tuned_strengths)
    show("Tuned by the nested protocol: mean F1 over the ratios", summarize(rows))
    if tests:
        show("BoostNE against each, over all splits", tests)


def embed_all(graph: Graph, candidates: Mapping[str, Embed]) -> dict[str, Embedding]:
    """Return the scaled vectors of each candidate."""
    return {name: unit_scale(Embedding(graph.nodes, embed(graph))) for name, embed in candidates.items()}


def nested(data: Dataset, candidates: Mapping[str, Embedding]) -> Evaluation:
    """Score a method by the protocol of the tuned comparison."""
    return evaluate_nested(
        candidates,
        data.labels,
        train=PROTOCOL.tuned_train,
        repeats=PROTOCOL.tuned_repeats,
        seed=PROTOCOL.seed,
        C=PROTOCOL.tuned_strengths,
        folds=FOLDS,
    )


def score_rows(dataset: str, method: str, result: Evaluation) -> list[dict[str, Any]]:
    """Return the scores at each ratio."""
    columns = zip(result.train, result.mean("micro"), result.std("micro"), result.mean("macro"), strict=True)
    return [
        {
            "dataset": dataset,
            "method": method,
            "train_percent": ratio,
            "micro": float(micro),
            "micro_se": float(std) / result.repeats**0.5,
            "macro": float(macro),
        }
        for ratio, micro, std, macro in columns
    ]


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means over the ratios."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["method"]), []).append(row)
    return [
        {"dataset": dataset, "method": method}
        | {metric: float(np.mean([row[metric] for row in group])) for metric in ("micro", "macro")}
        for (dataset, method), group in groups.items()
    ]


def pair_test_rows(dataset: str, boostne: Evaluation, method: str, result: Evaluation) -> list[dict[str, Any]]:
    """Return the tests of BoostNE against a method; none against itself."""
    if result is boostne:
        return []
    return [
        {"dataset": dataset, "against": method, "metric": test.metric, "wins": test.wins, "losses": test.losses}
        | {"difference": test.difference, "effect": test.effect, "p": test.p}
        for test in compare({"BoostNE": boostne, method: result}).tests
    ]


def cleora(**parameters: Any) -> Embed:
    """Return the embedding of pycleora; nodes without edges have zero vectors."""

    def embed(graph: Graph) -> NDArray[Any]:
        from pycleora import SparseMatrix
        from pycleora import embed as cleora_embed

        upper = sparse.triu(graph.adjacency).tocoo()
        edges = (f"{i} {j}" for i, j in zip(upper.row.tolist(), upper.col.tolist(), strict=True))
        matrix = SparseMatrix.from_iterator(edges, "complex::reflexive::node")
        vectors = np.zeros((graph.n_nodes, DIMENSIONS))
        vectors[[int(node) for node in matrix.entity_ids]] = cleora_embed(matrix, DIMENSIONS, **parameters)
        return vectors

    return embed


def prone(**parameters: Any) -> Embed:
    """Return the embedding of nodevectors' ProNE."""

    def embed(graph: Graph) -> NDArray[Any]:
        from nodevectors import ProNE

        model = ProNE(n_components=DIMENSIONS, verbose=False, **parameters)
        return np.asarray(model.fit_transform(sparse.csr_matrix(graph.adjacency, dtype=np.float64)))

    return embed


def sknetwork(name: str, **parameters: Any) -> Embed:
    """Return an embedding of scikit-network."""

    def embed(graph: Graph) -> NDArray[Any]:
        from sknetwork import embedding

        model = getattr(embedding, name)(DIMENSIONS, **parameters)
        return np.asarray(model.fit_transform(sparse.csr_matrix(graph.adjacency, copy=True)))

    return embed


def gensim(walks: int, length: int) -> Embed:
    """Return the vectors of gensim's skip-gram on our walks."""

    def embed(graph: Graph) -> NDArray[Any]:
        sentences = np.concatenate(list(walk_chunks(graph, walks=walks, length=length))).tolist()
        return gensim_deepwalk(sentences, graph.n_nodes, DIMENSIONS, available_threads())

    return embed


# The package and the candidates of each library, its own default first.
PEERS: Mapping[str, tuple[str, Mapping[str, Embed]]] = {
    "Cleora (pycleora)": (
        "pycleora",
        {
            "default": cleora(),
            "10 iterations": cleora(num_iterations=10),
            "4 iterations": cleora(num_iterations=4),
            "symmetric": cleora(propagation="symmetric"),
        },
    ),
    "ProNE (nodevectors)": ("nodevectors", {"default": prone(), "5 steps": prone(step=5), "mu 0": prone(mu=0.0)}),
    "Spectral, SVD (scikit-network)": (
        "sknetwork",
        {
            "Spectral": sknetwork("Spectral"),
            "Spectral, not normalized": sknetwork("Spectral", normalized=False),
            "SVD": sknetwork("SVD"),
            "SVD, normalized": sknetwork("SVD", normalized=True),
        },
    ),
    "DeepWalk (gensim)": ("gensim", {"80 walks of 40": gensim(80, 40), "10 walks of 80": gensim(10, 80)}),
}
