"""DeepWalkMatrix: the parameters of DeepWalk's connectivity matrix."""

from typing import Any, Literal, get_args

from boostne.budget import Workload
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.matrices.base import EXACT, ConnectivityMatrix, MatrixForm, RowSample
from boostne.matrices.block import first_column
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.plan import DeepWalkPlan
from boostne.matrices.deepwalk.push import BoundedExactSource, PushSource
from boostne.matrices.deepwalk.rule import choose_window, prefers_spectral
from boostne.matrices.deepwalk.spectral import SpectralSource, nonisolated_components
from boostne.matrices.line import LINEMatrix
from boostne.matrices.source import MatrixSource
from boostne.memory import MemoryBudget
from boostne.validation import check_choice, check_integer, check_number

Approximation = Literal["auto", "exact", "spectral", "push"]


class DeepWalkMatrix(ConnectivityMatrix):
    """``X = log max( vol(G) / (b T) · (S + … + S^T) D^-1 , 1 )`` with ``S = D^-1 A``.

    For a directed graph it is ``X_uv = log max( p_uv / (b mean_u p_uv) , 1 )`` with ``p = (S + … + S^T) / T``, where a
    walk goes back at nodes without outgoing edges; see :mod:`boostne.matrices.deepwalk.directed`.

    Parameters
    ----------
    window : int, optional
        T, the longest random walk. By default 15 on graphs with a mean degree below 5, 1 on small graphs where walks
        say little beyond the edges and on bipartite graphs, and 5 on others.
    negative : float, default=1.0
        b, the number of negative samples; larger values keep fewer entries.
    approximation : {"auto", "exact", "spectral", "push"}, default="auto"
        "exact" computes X as defined, "spectral" from the leading eigenpairs, as in the paper, and "push" keeps the
        strongest entries of each row, for large graphs. "auto" is "push" on graphs with more than 20,000 nodes and if
        memory is short; otherwise "spectral" if the mean degree is at least 32 and the window above 1, and "exact"
        else. On a GPU it is never "push". For directed graphs "spectral" is an error and never chosen.
    eigenpairs : int, default=256
        h, for "spectral"; above the number of connected components.
    epsilon : float, optional
        ε, for "push": a walk with less mass than ε times the degree of a node stops there, in a directed graph ε times
        its share of all visits times the number of edges; 0 prunes nothing. By default 0 up to 20,000 nodes, and
        otherwise derived from ``max_per_row`` and the mean degree. A row of which nothing would be left is not pruned,
        unless there are too many of them for that.
    max_per_row : int, optional
        For "push": largest number of entries per row. By default 200, more for graphs with fewer than 100,000
        nodes, fewer for those with more than 500,000 (100 at a million, 60 from 1.7 million on), and fewer if memory is
        short.

    Notes
    -----
    In a graph with sides, X has the rows of the first side and the columns of the second. Only walks of odd length lead
    from one to the other, so the mean is taken over these: T is replaced by ``2 ⌈T/2⌉``, because half of the volume
    belongs to each side.

    Examples
    --------
    >>> from boostne import BoostNE, DeepWalkMatrix, load_dataset
    >>> matrix = DeepWalkMatrix(window=2, approximation="push", max_per_row=10)
    >>> model = BoostNE(8, levels=2, connectivity=matrix).fit(load_dataset("karate").graph)
    >>> model.approximation_, int(model.nnz_[0]) <= 340
    ('push', True)
    """

    directed = True
    scale_invariant = True
    logarithmic = True
    empty_remedy = "use another window, such as 1, or lower negative or, with approximation='push', epsilon"

    def __init__(
        self,
        *,
        window: int | None = None,
        negative: float = 1.0,
        approximation: Approximation = "auto",
        eigenpairs: int = 256,
        epsilon: float | None = None,
        max_per_row: int | None = None,
    ) -> None:
        self.window = window
        self.negative = negative
        self.approximation = approximation
        self.eigenpairs = eigenpairs
        self.epsilon = epsilon
        self.max_per_row = max_per_row

    def check(self) -> None:
        """Raise ParameterError if a parameter is out of range or would have no effect."""
        check_choice("approximation", self.approximation, get_args(Approximation))
        if self.window is not None:
            check_integer("window", self.window, 1)
        check_integer("eigenpairs", self.eigenpairs, 1)
        check_number("negative", self.negative, 0, strict=True)
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, 0)
        if self.max_per_row is not None:
            check_integer("max_per_row", self.max_per_row, 1)
        for name in ("epsilon", "max_per_row"):
            if getattr(self, name) is not None and self.approximation in ("exact", "spectral"):
                raise ParameterError(f"{name} is for approximation='push'; got approximation={self.approximation!r}")

    def for_graph(self, graph: Graph) -> "DeepWalkMatrix":
        """Return this matrix with a window, chosen for the graph if there is none."""
        if graph.directed and self.approximation == "spectral":
            raise ParameterError(
                "approximation='spectral' needs the eigenpairs of an undirected graph, and this graph is directed: use "
                "approximation='exact' or 'push', or pass as_graph(graph).to_undirected()"
            )
        if graph.sides is not None and self.approximation == "spectral":
            raise ParameterError(
                "approximation='spectral' is for graphs without sides; use 'auto', 'exact' or 'push', or call "
                "with_sides(None) on the graph"
            )
        if self.window is not None:
            return self
        return DeepWalkMatrix(**{**self.get_params(deep=False), "window": self.window_for(graph)})

    def with_form(self, form: MatrixForm) -> "DeepWalkMatrix":
        """Return this matrix with ``approximation``, ``epsilon`` and ``max_per_row`` as in a form."""
        chosen = {"approximation": form.name, "epsilon": form.epsilon, "max_per_row": form.max_per_row}
        return DeepWalkMatrix(**{**self.get_params(deep=False), **chosen})

    def window_for(self, graph: Graph) -> int:
        """Return the window, chosen for the graph if there is none."""
        return choose_window(graph) if self.window is None else self.window

    def prefers_spectral(self, graph: Graph) -> bool:
        """Whether "auto" is "spectral" if that fits into memory."""
        if self.approximation != "auto" or not prefers_spectral(graph, self.window_for(graph)):
            return False
        return len(nonisolated_components(graph)) < self.eigenpairs < graph.n_nodes

    def is_sparse(self, graph: Graph) -> bool:
        """Whether X has entries for the edges of the graph only, so that it is built from these."""
        return graph.sides is not None and self.window_for(graph) == 1

    @property
    def requested_form(self) -> MatrixForm | None:
        """The form if it is "exact" or "spectral"; the others depend on the available memory."""
        return MatrixForm(self.approximation) if self.approximation in ("exact", "spectral") else None

    def device_form(self, graph: Graph) -> MatrixForm | None:
        """Return the form to build on a GPU; "push" runs on the host."""
        if self.approximation == "push":
            return None
        return self.requested_form or (MatrixForm("spectral") if self.prefers_spectral(graph) else EXACT)

    def plan(self, graph: Graph, work: Workload, budget: MemoryBudget) -> MatrixForm:
        return DeepWalkPlan(self.for_graph(graph), graph, work).choose(budget)

    def sample(self, graph: Graph, form: MatrixForm, work: Workload) -> RowSample:
        """Build some rows; for "spectral" those of the exact X. See :meth:`ConnectivityMatrix.sample`."""
        return DeepWalkPlan(self.for_graph(graph), graph, work).sample(form)

    def _source(self, graph: Graph, form: MatrixForm, dtype: Any, seed: int, threads: int) -> MatrixSource:
        window, first = self.window_for(graph), first_column(graph)
        # Of the steps 1 to T, those of odd length lead to the other side, which has half of the volume.
        negative = self.negative * (2 * ((window + 1) // 2) / window if first else 1)
        if form.name == "exact" and self.is_sparse(graph):
            return LINEMatrix(negative=negative).source(graph.with_sides(None), dtype=dtype)
        common: dict[str, Any] = {"window": window, "negative": negative, "dtype": dtype}
        if form.name == "spectral":
            return SpectralSource(graph, eigenpairs=self.eigenpairs, seed=seed, threads=threads, **common)
        common["kernels"] = get_kernels(threads=threads)
        if form.name == "exact":
            return ExactSource(graph, **common)
        max_per_row = form.max_per_row or graph.n_nodes
        common |= {"max_per_row": max_per_row, "first_column": first}
        return (
            PushSource(graph, epsilon=form.epsilon, **common) if form.epsilon else BoundedExactSource(graph, **common)
        )
