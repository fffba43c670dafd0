"""DeepWalk: nodes that co-occur on random walks get similar vectors."""

from boostne.models.base import Capabilities
from boostne.models.walk_base import WalkEmbedder


class DeepWalk(WalkEmbedder):
    """Skip-gram with negative sampling on random walks.

    For nodes i and j within a window of a walk, and negative samples j',

    ``max  log σ(u_i · v_j) + Σ_j' log σ(-u_i · v_j')``;  the embedding is u.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of each vector.
    walks : int, default=80
        Number of walks from each node. Fewer take proportionally less time.
    length : int, default=40
        Number of nodes in each walk.
    window : int, default=10
        Largest distance between the two nodes of a training pair, in steps along the walk. The actual window of
        each node is drawn uniformly from 1 to ``window``, so that close pairs are weighted more.
    negative : int, default=5
        Number of negative samples per pair.
    learning_rate : float, default=0.025
        Initial learning rate; it decays linearly to 0.4 % of this value.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; training runs in float32.
    threads : int, optional
        Number of threads; by default all cores. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the walks, the initial vectors and the negative samples.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.

    Notes
    -----
    **Differences from the paper.** Perozzi et al. train by hierarchical softmax; this is skip-gram with negative
    sampling, which the connectivity matrix of BoostNE and NetMF corresponds to. Each walk is used once; 80 walks of 40
    nodes are their choice, too. Later papers, including BoostNE's, report 10 walks of 80 nodes, but implementations
    based on gensim train on each walk five times by default. Walks follow edge weights and edge direction, neither of
    which the paper has. Negative samples are drawn in proportion to the power 3/4 of the expected number of visits by
    first-order walks, not of the observed visits. The nodes of a large graph are partitioned into at most 32 random
    parts; threads update disjoint rows, and the negative samples of a pair come from the part of its context node.
    This makes the vectors independent of the number of threads. The parts change for every round of walks, because
    fixed ones would bias the vectors.

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
