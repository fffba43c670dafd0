"""Other libraries that several benchmarks compare with."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def gensim_deepwalk(walks: Iterable[list[int]], n_nodes: int, dimensions: int, threads: int) -> NDArray[Any]:
    """Return node vectors from gensim's skip-gram with DeepWalk's parameters."""
    from gensim.models import Word2Vec

    settings = {"vector_size": dimensions, "window": 10, "sg": 1, "negative": 5, "epochs": 1, "alpha": 0.025}
    model = Word2Vec(walks, **settings, min_count=0, sample=0, workers=threads, seed=1)
    return np.asarray(model.wv[list(range(n_nodes))])
