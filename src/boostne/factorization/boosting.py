"""Boosted non-negative matrix factorization, written once for every engine.

With ``R_1 = X``, level i solves ``min_{U,V >= 0} ||R_i - U V||_F^2`` and leaves ``R_{i+1} = max(R_i - U_i V_i, 0)``
to the next: equations 3 and 4 of Li, Wu and Liu, "Multi-Level Network Embedding with Boosted Low-Rank Matrix
Approximation". U and V are non-negative, so where ``R_i`` is 0, ``R_{i+1}`` is 0: the residual never leaves the
sparsity pattern of X.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.engine import Engine, LevelLost

# Extrapolated HALS, after Ang and Gillis (2019), on V alone: the extrapolation grows while the objective decreases, and
# shrinks when a pass has to be reverted.
FIRST_EXTRAPOLATION = 0.5
EXTRAPOLATION_GROWTH = 1.05
EXTRAPOLATION_CUT = 1.5
# A level explains little of a large sparse X: with 16 components 1 % of ||X||^2 at 100,000 nodes, 0.1 % at a million.
# Below this share the tolerance is relative to what is explained.
SMALL_SHARE = 0.004
# Levels start from communities if there are this many per component. With fewer, each level would group them in much
# the same way, and end in a worse local minimum after a few passes.
COMMUNITIES_PER_COMPONENT = 2
# Upper bound of the random values in a V that starts from communities, where the component of the community has 1 more:
# 0.3 takes a quarter more passes, 0.02 as many.
START_NOISE = 0.1
# V is first extrapolated after the second pass, and what that gains shows in the fourth. From communities, the second
# pass gains little: if levels stopped there, accuracy at 300,000 nodes would be lower by .01.
MIN_PASSES = 4
INNER_SWEEPS = 4  # HALS sweeps per pass: fewer need more passes over the residual, more gain nothing


@dataclass(frozen=True)
class LevelSettings:
    """How a level is solved.

    Attributes
    ----------
    components : int
        d_s, the width of a level.
    tol : float
        A level ends when a pass lowers its objective by less than this share of ``||R_i||^2``; proportionally less if a
        level explains less than 0.4 % of that.
    max_iter : int
        Largest number of passes over the residual.
    inner_sweeps : int
        HALS sweeps of each row per pass; cheap compared with the pass, since they do not read R.
    """

    components: int
    tol: float
    max_iter: int
    inner_sweeps: int = INNER_SWEEPS


@dataclass(frozen=True)
class Level:
    """Factors of one level, and how they were reached.

    Attributes
    ----------
    U, V : ndarray or FactorParts
        ``R_i ~ U V^T``, exactly as the residual was deflated by them; each column of U has the norm of its column of V.
        From an engine whose workers write the factors: the list of the files.
    objective : ndarray
        ``||R_i - U V^T||^2 / ||R_i||^2`` after each accepted pass.
    n_iter : int
        Passes over the residual, reverted ones included.
    residual_norm : float
        ``||R_{i+1}||_F``.
    nnz : int
        Entries of ``R_{i+1}``.
    """

    U: Any
    V: Any
    objective: NDArray[np.float64]
    n_iter: int
    residual_norm: float
    nnz: int


InitialV = Callable[[int], NDArray[Any]]
Start = Callable[[int], Any]  # an InitialV, or one that returns what the engine takes instead of V
PassCallback = Callable[[int, int, float], None]


def random_start(seed: int, n_columns: int, components: int, dtype: Any) -> InitialV:
    """Return uniform initial V, drawn per level from its own generator: no level depends on those before it."""

    def initial_v(level: int) -> NDArray[Any]:
        rng = np.random.default_rng([seed, level])
        return rng.random((n_columns, components), dtype=np.dtype(dtype))

    return initial_v


def are_enough(communities: NDArray[np.integer[Any]], components: int) -> bool:
    """Whether levels can start from communities: whether there are several of similar size per component.

    Their effective number is the inverse of the chance that two nodes, drawn at random, are in the same one.
    """
    shares = np.bincount(communities) / max(len(communities), 1)
    return bool(COMMUNITIES_PER_COMPONENT * components * np.square(shares).sum() <= 1)


def community_start(seed: int, communities: NDArray[np.integer[Any]], components: int, dtype: Any) -> InitialV:
    """Return initial V with one component per community, drawn for each level, and small random values elsewhere.

    Nodes of a community have similar rows of X, so that this is close to a solution. Each level groups the communities
    differently, because the one before explained its own groups.

    Parameters
    ----------
    seed : int
    communities : ndarray of int
        The community of each column of X, numbered from 0.
    components : int
        Width of a level.
    dtype : numpy dtype
    """
    noise = random_start(seed, len(communities), components, dtype)
    n_communities = int(communities.max(initial=-1)) + 1

    def initial_v(level: int) -> NDArray[Any]:
        V = noise(level)
        V *= V.dtype.type(START_NOISE)
        rng = np.random.default_rng([seed, level, n_communities])
        component = rng.permutation(n_communities) % components  # as many communities for each
        V[np.arange(len(V)), component[communities]] += 1
        return V

    return initial_v


def boost(
    engine: Engine,
    settings: LevelSettings,
    levels: int,
    initial_v: Start,
    on_pass: PassCallback | None = None,
    finished: Iterable[Level] = (),
) -> Iterator[Level]:
    """Factorize the residual of an engine, level by level.

    Parameters
    ----------
    engine : Engine
        Loaded with X; afterwards it holds the last residual.
    settings : LevelSettings
        How each level is solved.
    levels : int
        k. Once the residual is zero, the remaining levels are zero.
    initial_v : callable
        ``initial_v(level)`` returns the V from which a level starts, levels counted from 0.
    on_pass : callable, optional
        Called as ``on_pass(level, n_passes, objective)`` after each pass.
    finished : iterable of Level, optional
        The first levels, from an earlier run on the same X: replayed rather than solved again, and yielded unchanged,
        each before the next is asked for.

    Yields
    ------
    Level
        From coarse to fine.

    Raises
    ------
    FloatingPointError
        If the factors are not finite.
    """
    if not np.isfinite(engine.norm2):
        raise FloatingPointError("X contains NaN, infinite or too large values")
    rounding = float(np.finfo(engine.dtype).eps) ** 2 * engine.norm2
    n_finished = 0
    for level in finished:
        if level.n_iter:
            engine.replay(level.U, level.V)
        yield level
        n_finished += 1
        del level  # not kept while the next is read
    for i in range(n_finished, levels):
        if engine.norm2 <= rounding:  # nothing but rounding errors is left
            yield _zero_level(engine, settings.components)
            continue
        U, V, objective, n_iter = _solve(engine, settings, initial_v, i, on_pass)
        engine.deflate()
        if not np.isfinite(engine.norm2):
            raise FloatingPointError(f"level {i + 1} of {levels}: the residual is not finite")
        yield Level(U, V, objective, n_iter, float(np.sqrt(engine.norm2)), engine.nnz)
        del U, V  # not kept while the next level is solved


def _solve(
    engine: Engine, settings: LevelSettings, initial_v: Start, level: int, on_pass: PassCallback | None
) -> tuple[Any, Any, NDArray[np.float64], int]:
    """Return the balanced factors of one level, its objective and its passes; start over if the engine lost them."""
    while True:
        try:
            engine.start_level(initial_v(level))
            objective, n_iter, gram_u = _descend(engine, settings, lambda *state: on_pass and on_pass(level, *state))
            engine.rescale(balance(gram_u, engine.gram_v()))
            return *engine.factors(), objective, n_iter
        except LevelLost:
            continue


def balance(gram_u: NDArray[np.float64], gram_v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ratio by which to multiply U's columns and divide V's for equal norms; ``U V^T`` is unchanged.

    The factorization determines the product, not how its scale is divided between the factors. Equal norms make the
    embedding independent of the starting point, and a regularized classifier depends on them. A component that does
    not contribute gets 0.

    Parameters
    ----------
    gram_u, gram_v : ndarray
        ``U^T U`` and ``V^T V``; their diagonals are the squared norms.
    """
    norm2_u, norm2_v = np.diag(gram_u), np.diag(gram_v)
    alive = (norm2_u > 0) & (norm2_v > 0)
    quotient = np.divide(norm2_v, norm2_u, out=np.zeros_like(norm2_u), where=alive)
    return np.asarray(np.sqrt(np.sqrt(quotient)))


def _descend(
    engine: Engine, settings: LevelSettings, on_pass: Callable[[int, float], object]
) -> tuple[NDArray[np.float64], int, NDArray[np.float64]]:
    """Solve one level; returns the objective after each accepted pass, the number of passes, and ``U^T U``."""
    norm2 = engine.norm2
    gram_u = np.zeros((settings.components, settings.components))
    history: list[float] = []
    reseeded: set[int] = set()
    extrapolation, largest, extrapolated = FIRST_EXTRAPOLATION, 1.0, False
    for n_iter in range(1, settings.max_iter + 1):
        result = engine.step(settings.inner_sweeps)
        # ||R - U V||^2 without reading R; in float64 because of cancellation.
        inner_product = float(np.sum(result.gram_u * result.gram_v))
        objective = max(norm2 - 2 * result.product + inner_product, 0.0) / norm2
        on_pass(n_iter, objective)
        if not np.isfinite(objective):
            raise FloatingPointError("the factors are not finite")
        if extrapolated and history and objective > history[-1]:
            largest, extrapolation = extrapolation, extrapolation / EXTRAPOLATION_CUT
            extrapolated = False
            engine.revert()
            continue
        gain = history[-1] - objective if history else np.inf
        gram_u = result.gram_u
        history.append(objective)
        revived = _reseed_dead(engine, settings.components, gram_u, reseeded)
        small = gain < settings.tol * min((1 - objective) / SMALL_SHARE, 1)
        if small and not revived and len(history) >= MIN_PASSES:
            break
        extrapolated = len(history) > 1 and n_iter < settings.max_iter - 1
        engine.accept(extrapolation if extrapolated else 0.0)
        if extrapolated:
            extrapolation = min(extrapolation * EXTRAPOLATION_GROWTH, largest)
    return np.array(history), n_iter, gram_u


def _reseed_dead(engine: Engine, components: int, gram_u: NDArray[np.float64], reseeded: set[int]) -> bool:
    """Reseed dead components, each at most once per level; returns whether there were any.

    A dead component has a zero column in U, so new values in V do not change the product, and the next pass shows
    whether they are useful.
    """
    dead = [c for c in range(components) if gram_u[c, c] == 0 and c not in reseeded]
    for c in dead:
        reseeded.add(c)
        rng = np.random.default_rng([c, len(reseeded)])
        engine.reseed(c, rng.random(engine.shape[1], dtype=engine.dtype))
    return bool(dead)


def _zero_level(engine: Engine, components: int) -> Level:
    return Level(*engine.zero_factors(components), np.zeros(0), 0, 0.0, 0)
