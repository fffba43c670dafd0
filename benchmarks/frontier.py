"""Time against accuracy on large graphs: entries per row of the pruned X, its ε, start of the levels, and propagation.

Generated graphs of several kinds, because what suffices for clear communities does not for others. One fit serves all
propagations; CPU seconds are those of the fit without propagation, so that they hardly depend on other processes.
"""

import os
from pathlib import Path
from typing import Any

from benchmarks.common import save, show
from benchmarks.graph_kinds import generate
from benchmarks.scale import accuracy
from boostne import BoostNE, DeepWalkMatrix, Embedding, planted_partition
from boostne.datasets import Dataset
from boostne.factorization import boosting
from boostne.matrices.deepwalk.plan import EPSILON_SHARE
from boostne.models.boostne import VECTOR_LENGTH
from boostne.propagation import propagate_in_place
from boostne.vector_lengths import rescale_in_place

PLANTED = "planted partition"
GRAPHS = (
    (PLANTED, 60_000),
    ("power-law, degree 10", 60_000),
    ("hierarchy, degree 6", 60_000),
    ("overlapping, degree 10", 60_000),
    ("5 nearest neighbors", 60_000),
    (PLANTED, 200_000),
)
PER_ROW = (60, 100, 200)
EPSILON_SHARES = (0.2, 0.4)  # besides the default; ε times the entries per row and the mean degree
PROPAGATIONS = ((0.8, 2), (0.9, 4))  # weight of the neighbors, steps
SEED = 100
PLOT = Path(__file__).parents[1] / "docs" / "frontier.png"


def run() -> None:
    """Measure all settings on all graphs, and plot."""
    rows: list[dict[str, Any]] = []
    for kind, n_nodes in GRAPHS:
        data = planted_partition(n_nodes, seed=SEED) if kind == PLANTED else generate(kind, n_nodes, seed=SEED)
        for per_row in PER_ROW:
            rows.append({"graph": kind, "nodes": n_nodes, **measured(data, per_row, start="communities")})
            show("so far", rows[-1:])
        rows.append({"graph": kind, "nodes": n_nodes, **measured(data, PER_ROW[0], start="random")})
        for share in EPSILON_SHARES:
            found = measured(data, PER_ROW[-1], start="communities", share=share)
            rows.append({"graph": kind, "nodes": n_nodes, **found})
        show("so far", rows[-len(EPSILON_SHARES) - 1 :])
        save("frontier", rows)
    show("Entries per row and start against CPU time and accuracy", rows)
    plot(rows)


def measured(data: Dataset, per_row: int, start: str, share: float = EPSILON_SHARE) -> dict[str, Any]:
    """Fit with some entries per row; return passes, CPU seconds, and the accuracy of each propagation."""
    epsilon = share * data.graph.n_nodes / (per_row * data.graph.adjacency.nnz)
    matrix = DeepWalkMatrix(approximation="push", epsilon=epsilon, max_per_row=per_row)
    model = BoostNE(connectivity=matrix, propagation=0, vector_length=0)
    usual = boosting.COMMUNITIES_PER_COMPONENT
    if start == "random":
        boosting.COMMUNITIES_PER_COMPONENT = data.graph.n_nodes  # never enough
    begin = cpu_seconds()
    model.fit(data.graph)
    seconds = cpu_seconds() - begin
    boosting.COMMUNITIES_PER_COMPONENT = usual
    residual = model.residual_norms_[-1] / model.residual_norms_[0]
    row = {
        "per_row": per_row,
        "epsilon_share": share,
        "start": start,
        "cpu_s": seconds,
        "passes": int(model.n_iter_.sum()),
        "residual": residual,
    }
    return row | {
        f"accuracy, {weight} x {steps}": propagated_accuracy(data, model, weight, steps)
        for weight, steps in PROPAGATIONS
    }


def propagated_accuracy(data: Dataset, model: BoostNE, weight: float, steps: int) -> float:
    """Return the accuracy after propagation, at the default length."""
    vectors = model.embedding_.vectors.copy()
    propagate_in_place(data.graph, vectors, weight, steps, None)
    rescale_in_place(vectors, VECTOR_LENGTH)
    return accuracy(Embedding(data.graph.nodes, vectors), data.labels)


def cpu_seconds() -> float:
    """Return the CPU time of this process."""
    times = os.times()
    return times.user + times.system


def plot(rows: list[dict[str, Any]]) -> None:
    """Plot CPU time against accuracy, one panel per graph."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), layout="constrained")
    for axis, (kind, n_nodes) in zip(axes.flat, GRAPHS, strict=True):
        usual = [row for row in rows if row["epsilon_share"] == EPSILON_SHARE]
        own = [row for row in usual if (row["graph"], row["nodes"]) == (kind, n_nodes)]
        for weight, steps in PROPAGATIONS:
            name = f"accuracy, {weight} x {steps}"
            points = [(row["cpu_s"], row[name]) for row in own if row["start"] == "communities"]
            (line,) = axis.plot(*zip(*points, strict=True), marker="o", label=f"w = {weight}, {steps} steps")
            old = [(row["cpu_s"], row[name]) for row in own if row["start"] == "random"]
            axis.plot(*zip(*old, strict=True), marker="x", ls="", color=line.get_color())
        for row in own[: len(PER_ROW)]:
            axis.annotate(str(row["per_row"]), (row["cpu_s"], row[name]), xytext=(3, -11), textcoords="offset points")
        axis.set(title=f"{kind}, {n_nodes:,} nodes", xlabel="CPU seconds of the fit", ylabel="accuracy")
        axis.grid(alpha=0.3)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    title = "numbers: entries per row; crosses: random start"
    figure.legend(handles, labels, title=title, loc="outside lower center", ncols=len(labels), fontsize=9)
    figure.savefig(PLOT, dpi=110)
