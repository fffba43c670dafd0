"""The reference kernels as an implementation of :class:`boostne.kernels.contract.Kernels`."""

from boostne.kernels.contract import Kernels
from boostne.kernels.reference import communities, connectivity, factorization, skipgram, walks


class ReferenceKernels(Kernels):
    """Single-threaded kernels in NumPy; :class:`~boostne.kernels.contract.Kernels` documents the methods."""

    instruction_set = "reference"
    threads = 1

    stripe = staticmethod(factorization.stripe)
    solve_rows = staticmethod(factorization.solve_rows)
    sweep = staticmethod(factorization.sweep)
    hals = staticmethod(factorization.hals)
    extrapolate = staticmethod(factorization.extrapolate)
    deflate = staticmethod(factorization.deflate)
    product = staticmethod(factorization.product)
    gram_product = staticmethod(factorization.gram_product)
    average = staticmethod(factorization.average)
    walk_columns = staticmethod(connectivity.walk_columns)
    step_rows = staticmethod(connectivity.step_rows)
    push_rows = staticmethod(connectivity.push_rows)
    communities = staticmethod(communities.communities)
    random_walks = staticmethod(walks.random_walks)
    train_walks = staticmethod(skipgram.train_walks)
    train_edges = staticmethod(skipgram.train_edges)
