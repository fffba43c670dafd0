"""Label propagation in plain Python."""

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.csr_graph import CSRGraph


def communities(graph: CSRGraph, *, max_size: int, max_rounds: int, tolerated_changes: int) -> NDArray[np.int32]:
    """Find communities by label propagation."""
    labels, size = list(range(graph.n)), [1] * graph.n
    for _ in range(max_rounds):
        changed = 0
        for v in range(graph.n):
            score = {labels[v]: 0.0}
            for e in range(graph.indptr[v], graph.indptr[v + 1]):
                label = labels[graph.indices[e]]
                score[label] = score.get(label, 0.0) + (1.0 if graph.weights is None else float(graph.weights[e]))
            best = old = labels[v]
            for label, weight in score.items():
                if weight > score[best] and size[label] < max_size:
                    best = label
            size[old] -= 1
            size[best] += 1
            labels[v] = best
            changed += best != old
        if changed <= tolerated_changes:
            break
    return np.array(labels, np.int32)
