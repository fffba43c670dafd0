"""What a fitted model can do for graphs that it was not fitted to: embed new nodes, be saved, be loaded."""

import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from boostne.embedding import Embedding
from boostne.errors import GraphError, ParameterError
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.matrices import ConnectivityMatrix, MatrixForm
from boostne.models.factorization_base import FactorizationEmbedder
from boostne.models.fitted_graph import FittedGraph
from boostne.models.folding import Folded, FoldedNodes, connectivity_of, fold_undirected, keep_known, nodes_to_fold
from boostne.models.known_nodes import factor_nodes, factor_rows, find_known_nodes, warn_missing
from boostne.models.model_files import load_model, save_model
from boostne.models.recommendation import known_pairs, recommend_nodes
from boostne.models.target_folding import fold_bipartite, fold_directed
from boostne.models.updating import UpdateReport, update_model
from boostne.progress import ProgressCallback, ProgressOption, reporting
from boostne.validation import check_choice

CONTAINERS = ("default", "pandas", "polars")


class InductiveEmbedder(FactorizationEmbedder):
    """Base of the estimators whose context vectors give vectors to nodes that were not there when they were fitted.

    Attributes
    ----------
    context_ : ndarray of shape (n, d)
        ``[V_1^T … V_k^T]``.
    scale_ : float or None
        Constant of the lengths of the vectors; see :func:`boostne.vector_lengths.rescale_in_place`. None if the
        vectors were not rescaled.
    fitted_graph_ : FittedGraph
        Facts about the graph.
    targets_ : Embedding
        Of a directed graph: vectors of nodes as targets; of a bipartite graph: those of the second side.
    centers_ : ndarray of shape (n, d)
        Of a directed or bipartite graph: ``[U_1 … U_k]`` as factorized.
    target_scales_ : list of two floats, or None
        Of a directed or bipartite graph: by what the vectors of sources and of targets were multiplied at the end.
    known_ : csr_array
        Of a bipartite graph: where its edges are, the first side in rows and the second in columns.
    score_map_ : ndarray of shape (d, d)
        Of a bipartite graph: the matrix M with which :meth:`recommend` scores pairs of nodes.
    """

    context_: NDArray[Any]
    settings_: dict[str, Any]
    approximation_: str
    epsilon_: float | None
    max_per_row_: int | None
    connectivity_: ConnectivityMatrix | None
    scale_: float | None
    centers_: NDArray[Any]
    target_scales_: list[float] | None
    fitted_graph_: FittedGraph
    graph_: Graph
    known_: sparse.csr_array
    score_map_: NDArray[np.float64]

    def fit_transform(self, X: Any, y: object = None, *, progress: ProgressOption = False) -> NDArray[Any]:
        """Embed the nodes of a graph and return their vectors as :meth:`transform` would."""
        self.fit(X, y, progress=progress)
        vectors: NDArray[Any] = self._in_container(self.embedding_)
        return vectors

    def fold_in(self, X: Any, *, refresh: bool = False, progress: ProgressOption = False) -> Embedding:
        """Return vectors for the nodes of a graph that the model does not know.

        With r_1 the row of X of a new node in the enlarged graph, restricted to known nodes, level i is

        ``u_i = argmin_{u >= 0} ||r_i - u V_i||^2``  and leaves  ``r_{i+1} = max(r_i - u_i V_i, 0)``.

        The vector ``[u_1 … u_k]`` is then averaged with those of its neighbors and rescaled, like the vectors of the
        model. Neither these nor the model change.

        Parameters
        ----------
        X : Graph, matrix, networkx graph, edge table or list of pairs
            The whole graph: known nodes, which are recognized by their ids, new nodes, and all edges between them.
            Known nodes may be missing, and are then counted in a warning.
        refresh : bool, default=False
            Whether to return new vectors also for known nodes whose edges changed.
        progress : callable or bool, default False
            As for :meth:`fit`.

        Returns
        -------
        Embedding
            In the order of the graph. Nodes without edges get zero vectors and a warning. If the model has target
            vectors, new nodes get them, too; of a bipartite graph, those of the second side are the targets.
        """
        graph, _, found = self._fold(X, refresh, progress)
        return self._embedding(graph, found)

    def embed(self, X: Any, *, refresh: bool = False, progress: ProgressOption = False) -> Embedding:
        """Return the embedding of a graph, in which known nodes keep their vectors and new ones are folded in.

        Parameters
        ----------
        X, refresh, progress
            As for :meth:`fold_in`; with ``refresh``, known nodes whose edges changed get new vectors, too.

        Returns
        -------
        Embedding
            In the order of the graph, with target vectors if the model has them.
        """
        graph, rows, found = self._fold(X, refresh, progress)
        rows_of, nodes_of = factor_rows(self, graph, rows), factor_nodes(graph)
        sources = keep_known(self.embedding_, found.sources, rows_of[0], nodes_of[0])
        if self.targets_ is None or found.targets is None:
            return self._embedding(graph, Folded(sources))
        return self._embedding(
            graph, Folded(sources, keep_known(self.targets_, found.targets, rows_of[1], nodes_of[1]))
        )

    def transform(self, X: Any, *, refresh: bool = False, progress: ProgressOption = False) -> NDArray[Any]:
        """Return the vectors of the nodes of a graph, known and new.

        Known nodes keep their vectors, so that ``fit(X).transform(X)`` is ``fit_transform(X)``; new ones are folded in.

        Parameters
        ----------
        X, refresh, progress
            As for :meth:`embed`, which also returns the ids of the nodes and target vectors.

        Returns
        -------
        ndarray of shape (n, d), or data frame
            Row i belongs to ``as_graph(X).nodes[i]``; of a bipartite graph, to node i of its first side. After
            ``set_output(transform="pandas")`` a data frame indexed by node, with columns named by
            :meth:`get_feature_names_out`.
        """
        vectors: NDArray[Any] = self._in_container(self.embed(X, refresh=refresh, progress=progress))
        return vectors

    def update(self, X: Any, *, progress: ProgressOption = False) -> UpdateReport:
        """Adapt the model to its graph after nodes, edges or weights changed.

        The basis stays: classifiers trained on earlier vectors still apply. Nodes that are no longer in the graph are
        removed from the model.

        If X has the form "push", as on large graphs, rows of X are built again for new nodes, for nodes whose edges
        changed, and for nodes with many neighbors whose edges changed; vectors further away stay as they are. For other
        forms, and if more than half of the rows are concerned, all of X is built again, and two passes start each level
        from the V that it had.

        Parameters
        ----------
        X : Graph, matrix, networkx graph, edge table or list of pairs
            The whole graph as it is now; nodes are recognized by their ids.
        progress : callable, optional
            As for :meth:`fit`.

        Returns
        -------
        UpdateReport
            The numbers of nodes added, removed and changed, and how far vectors moved.

        Notes
        -----
        ``n_iter_``, ``objective_``, ``residual_norms_`` and ``nnz_`` describe the last time that all of X was built. An
        update that is interrupted leaves the model as it was.
        """
        graph = self._check_enlarged(X)
        with reporting(progress) as on_progress:
            fitted, report = update_model(self, graph, self._refit, on_progress)
        if hasattr(self, "graph_"):
            fitted["graph_"] = graph
        for name, value in fitted.items():
            setattr(self, name, value)
        return report

    def recommend(self, nodes: Any, n: int = 10, *, exclude_known: bool = True, graph: Any = None) -> Any:
        """Return the nodes with the highest scores, for instance items for a user, or pages that a page may link to.

        In a directed graph, the score of a node is the product of both vectors, ``Σ_i U_i V_i`` over all levels, from
        ``embedding_`` and ``targets_``. In a bipartite graph it is ``u M v``, where the matrix M, ``score_map_``, is
        fitted to the edges by ridge regression, divided by a power of the length of the recommended node's vector,
        because popular nodes have long ones. Nodes whose score is not positive are left out.

        Parameters
        ----------
        nodes : node id, or list or array of ids
            Nodes of one side of a bipartite graph, either the first or the second; in a directed graph, sources.
        n : int, default=10
            Number of nodes to return; fewer if fewer have a score.
        exclude_known : bool, default=True
            Whether to leave out the neighbors in the graph. A model of a directed graph does not keep its edges, and
            needs ``graph`` for this.
        graph : Graph, or anything that :func:`boostne.as_graph` accepts, optional
            The graph as it is now. New nodes, as users with their first items, get vectors by :meth:`fold_in`, and the
            neighbors that are left out are those in this graph. By default the graph of the fit.

        Returns
        -------
        list of (id, score)
            Best first; for a list or array of ids, one such list for each.

        Examples
        --------
        >>> from boostne import BoostNE, as_graph
        >>> baskets = {"ann": "tea milk cake", "bob": "tea milk", "eve": "rice beans", "kim": "rice"}
        >>> edges = [(user, item) for user, items in baskets.items() for item in items.split()]
        >>> model = BoostNE(dimensions=2, levels=1).fit(as_graph(edges, sides="columns"))
        >>> [item for item, _ in model.recommend("bob")], [item for item, _ in model.recommend("kim")]
        (['cake'], ['beans'])
        >>> today = as_graph([*edges, ("zoe", "beans")], sides="columns")
        >>> [item for item, _ in model.recommend("zoe", graph=today)]
        ['rice']
        """
        check_is_fitted(self, "embedding_")
        if self.targets_ is None:
            raise GraphError(
                "the model has no vectors to recommend from: fit a directed graph, or a bipartite one, as with "
                "as_graph(edges, sides='columns') or read_graph(path, bipartite=True)"
            )
        embedding, known = self.embedding_, getattr(self, "known_", None)
        if graph is not None:
            network = self._check_enlarged(graph)
            embedding = self.embed(network)
            known = known_pairs(network)
        if exclude_known and known is None:
            raise ParameterError("the model does not have the edges of its graph: pass graph= or exclude_known=False")
        targets = embedding.targets or embedding
        score_map = None if self.fitted_graph_.directed else self.score_map_
        return recommend_nodes(embedding, targets, nodes, n, known if exclude_known else None, score_map)

    def save(self, path: str | Path, *, graph: Any = None) -> None:
        """Write the fitted model to a file, which :meth:`load` reads.

        The file contains the vectors, the context vectors, the parameters, the node ids, and a fingerprint of the graph
        and of the edges of each node. It has a version and a checksum, and nothing in it is pickled. Parameters that
        only affect how a fit runs, such as ``threads``, are left out.

        Parameters
        ----------
        path : str or Path
            With the suffix ``.npz``. It is also an embedding file: :func:`boostne.read_embedding` reads the vectors.
        graph : Graph, or anything that :func:`boostne.as_graph` accepts, optional
            The graph of the fit, to be stored as well; :meth:`load` returns it as ``graph_``.
        """
        check_is_fitted(self, "embedding_")
        save_model(self, path, None if graph is None else as_graph(graph))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model written by :meth:`save`.

        Raises
        ------
        FileFormatError
            If the file is damaged, is no model, or was written by a newer version.
        """
        return load_model(cls, path)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns: ``level1_0 … level1_15, level2_0 …``."""
        check_is_fitted(self, "embedding_")
        widths = enumerate(self.embedding_.levels.tolist(), 1)
        return np.array([f"level{i}_{j}" for i, width in widths for j in range(width)], dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what :meth:`transform` returns, as in scikit-learn.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a data frame of the given library. None leaves the choice as it is.
        """
        if transform is not None:
            check_choice("transform", transform, CONTAINERS)
            self._output = transform
        return self

    def __sklearn_clone__(self) -> Self:
        other: Self = super().__sklearn_clone__()
        return other.set_output(transform=getattr(self, "_output", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])  # the parameter dtype decides
        return tags

    def _in_container(self, embedding: Embedding) -> Any:
        container = getattr(self, "_output", get_config()["transform_output"])
        if container == "default":
            return embedding.vectors
        names = self.get_feature_names_out().tolist()
        if container == "pandas":
            return embedding.to_frame().set_axis(names, axis="columns")
        import polars as pl

        return pl.DataFrame(embedding.vectors, schema=names, orient="row")

    def _refit(self, graph: Graph, context: NDArray[Any], passes: int, progress: ProgressCallback) -> dict[str, Any]:
        """Fit a copy of this model to a graph, from given context vectors; return its fitted attributes."""
        form = MatrixForm(self.approximation_, self.epsilon_, self.max_per_row_)
        changes = {
            "connectivity": connectivity_of(self).with_form(form),
            "window": None,
            "max_iter": passes,
            "checkpoint": None,
        }
        other = type(self)(**self.get_params(deep=False) | changes)
        width = context.shape[1] // self.levels
        other._start = lambda level: context[:, level * width : (level + 1) * width]  # noqa: SLF001  of this class
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # isolated nodes were counted before
            other.fit(graph, progress=progress)
        fitted = {name: value for name, value in vars(other).items() if name.endswith("_")}
        return fitted | {"connectivity_": self.connectivity_}

    def _fold(self, X: Any, refresh: bool, progress: ProgressOption) -> tuple[Graph, NDArray[np.int64], Folded]:
        """Fold in the new nodes of a graph; returns also the graph and where the model has its nodes."""
        graph = self._check_enlarged(X)
        rows = find_known_nodes(self, graph)
        warn_missing(self, rows)
        wanted = nodes_to_fold(self, graph, rows, refresh=refresh)
        fold = fold_undirected
        if graph.directed or graph.sides is not None:
            fold = fold_directed if graph.directed else fold_bipartite
        with reporting(progress) as report:
            return graph, rows, fold(self, graph, rows, wanted, report) if wanted.any() else self._nothing_folded()

    def _nothing_folded(self) -> Folded:
        nothing = FoldedNodes(np.empty(0, np.int64), np.empty((0, self.context_.shape[1]), self.context_.dtype))
        return Folded(nothing, None if self.targets_ is None else nothing)

    def _embedding(self, graph: Graph, found: Folded) -> Embedding:
        levels, targets = self.embedding_.levels, None
        if found.targets is not None:
            targets = Embedding(graph.nodes[found.targets.positions], found.targets.vectors, levels)
        return Embedding(graph.nodes[found.sources.positions], found.sources.vectors, levels, targets=targets)

    def _check_enlarged(self, X: Any) -> Graph:
        check_is_fitted(self, "embedding_")
        return self._as_graph(X)
