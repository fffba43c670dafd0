"""LINE's connectivity matrix: DeepWalk's with a window of one."""

import numpy as np
from scipy import sparse

from boostne.graph import Graph
from boostne.matrices.adjacency import inverse_degrees, transition
from boostne.matrices.base import SparseMatrix
from boostne.validation import check_number


class LINEMatrix(SparseMatrix):
    """``X = log max( vol(G) / b · S D^-1 , 1 )`` with ``S = D^-1 A``; entries only where the graph has edges.

    Parameters
    ----------
    negative : float, default=1.0
        b, the number of negative samples; larger values keep fewer entries.

    Examples
    --------
    >>> from boostne import LINEMatrix, as_graph
    >>> LINEMatrix().build(as_graph([("a", "b"), ("b", "c")])).toarray().round(2)
    array([[0.  , 0.69, 0.  ],
           [0.69, 0.  , 0.69],
           [0.  , 0.69, 0.  ]])
    """

    scale_invariant = True
    logarithmic = True
    empty_remedy = "lower negative"

    def __init__(self, *, negative: float = 1.0) -> None:
        self.negative = negative

    def check(self) -> None:
        check_number("negative", self.negative, 0, strict=True)

    def build(self, graph: Graph) -> sparse.csr_array:
        scale = sparse.diags_array(graph.volume / self.negative * inverse_degrees(graph))
        X = (transition(graph) @ scale).tocsr()
        X.data = np.log(np.maximum(X.data, 1))
        X.eliminate_zeros()
        return X
