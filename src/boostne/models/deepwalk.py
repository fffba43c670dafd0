"""DeepWalk: nodes that are met together on random walks get similar vectors."""

from typing import Any

from boostne.models.base import Capabilities
from boostne.models.walk_base import WalkEmbedder


class DeepWalk(WalkEmbedder):
    """Skip-gram with negative sampling on random walks.

    For nodes i and j near each other on a walk, and negatives j',

    ``max  log σ(u_i · v_j) + Σ_j' log σ(-u_i · v_j')``;  the embedding is u.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector.
    walks : int, default=10
        Walks from each node.
    length : int, default=80
        Nodes of a walk.
    window : int, default=10
        Nodes of a walk at most so many steps apart make a pair. For each node the window is drawn anew, from 1 to
        this, so that close pairs count more.
    negative : int, default=5
        Negatives drawn for each pair.
    learning_rate : float, default=0.025
        Length of the first steps; it falls linearly to nearly nothing.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the result; the training runs in float32.
    threads : int, optional
        Threads to use; by default every core. The result is the same, bit for bit, for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the walks, of the start and of all that is drawn.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.

    Notes
    -----
    **Differences from the paper.** Perozzi et al. learn by hierarchical softmax; this is skip-gram with negative
    sampling, the form that the connectivity matrix of BoostNE and NetMF stands for. Each walk is used once. Walks
    go by the weights of edges and along their direction, where a graph has these; the paper has neither.
    Negatives come by the power 3/4 of the
    number of visits to expect on walks of first order, not of the visits counted. The nodes of a larger graph are cut
    into at most 32 parts, threads work where they share no rows, and the negatives of a pair come from the part of
    its output: this is what makes the vectors the same for any number of threads.

    References
    ----------
    B. Perozzi, R. Al-Rfou, S. Skiena: "DeepWalk: Online Learning of Social Representations", KDD 2014.

    T. Mikolov, I. Sutskever, K. Chen, G. Corrado, J. Dean: "Distributed Representations of Words and Phrases and
    their Compositionality", NeurIPS 2013.

    Examples
    --------
    >>> from boostne import DeepWalk
    >>> model = DeepWalk(dimensions=2, walks=2, length=5, window=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 2)
    """

    capabilities = Capabilities(
        weights=True,
        direction=True,
        engines=("local",),
        cost="walks·n·length·window·negatives·d",
        paper="Perozzi et al. 2014",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        walks: int = 10,
        length: int = 80,
        window: int = 10,
        negative: int = 5,
        learning_rate: float = 0.025,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.walks = walks
        self.length = length
        self.window = window
        self.negative = negative
        self.learning_rate = learning_rate
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state
