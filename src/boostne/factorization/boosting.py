"""Boosted non-negative matrix factorization, written once for every engine.

With ``R_1 = X``, level i solves ``min_{U,V >= 0} ||R_i - U V||_F^2`` and leaves ``R_{i+1} = max(R_i - U_i V_i, 0)``
to the next: equations 3 and 4 of Li, Wu and Liu, "Multi-Level Network Embedding with Boosted Low-Rank Matrix
Approximation". U and V are non-negative, so where ``R_i`` is 0, ``R_{i+1}`` is 0: the residual never leaves the
sparsity pattern of X.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.engine import Context, Engine, LevelLost

# Extrapolated HALS, after Ang and Gillis (2019), on V alone: the step grows while the objective falls, and
# shrinks when a pass has to be taken back.
FIRST_STEP = 0.5
STEP_GROWTH = 1.05
STEP_CUT = 1.5
# Of a large sparse X a level can explain little: a sixteen-dimensional one 1 % of ||X||^2 at 100,000 nodes, 0.1 % at a
# million. Below this share, the tolerance is taken of what is explained.
SMALL_SHARE = 0.004


@dataclass(frozen=True)
class Settings:
    """How a level is solved.

    Attributes
    ----------
    components : int
        d_s, the width of a level.
    tol : float
        A level ends when a pass lowers its objective by less than this share of ``||R_i||^2``; where a level explains
        less than 0.4 % of that, in proportion.
    max_iter : int
        Passes over the residual at most.
    inner : int
        HALS sweeps of each row in a pass; cheap beside the pass, since they do not read R.
    """

    components: int
    tol: float
    max_iter: int
    inner: int


@dataclass(frozen=True)
class Level:
    """One level's factors and how they were reached.

    Attributes
    ----------
    U, V : ndarray
        ``R_i ~ U V^T``, the very numbers that the residual was deflated by; each column of U has the norm of its
        column of V.
    objective : ndarray
        ``||R_i - U V^T||^2 / ||R_i||^2`` after each pass that was kept.
    n_iter : int
        Passes over the residual, those taken back included.
    residual_norm : float
        ``||R_{i+1}||_F``.
    nnz : int
        Entries of ``R_{i+1}``.
    """

    U: NDArray[Any]
    V: NDArray[Any]
    objective: NDArray[np.float64]
    n_iter: int
    residual_norm: float
    nnz: int


Start = Callable[[int], NDArray[Any]]
Progress = Callable[[int, int, float], None]


def random_start(seed: int, engine: Engine, components: int) -> Start:
    """Uniform starts for V, each level from a generator of its own: no level depends on those before it."""

    def start(level: int) -> NDArray[Any]:
        rng = np.random.default_rng([seed, level])
        return rng.random((engine.shape[1], components), dtype=engine.dtype)

    return start


def boost(
    engine: Engine,
    settings: Settings,
    levels: int,
    start: Start,
    progress: Progress | None = None,
    finished: Sequence[Level] = (),
) -> Iterator[Level]:
    """Factorize what the engine holds, level by level.

    Parameters
    ----------
    engine : Engine
        Loaded with X; afterwards it holds the last residual.
    settings : Settings
        How each level is solved.
    levels : int
        k. Once nothing is left to factorize, the levels that remain are zero.
    start : callable
        ``start(level)`` gives the V that a level starts from, level counted from 0.
    progress : callable, optional
        Called as ``progress(level, n_passes, objective)`` after each pass.
    finished : sequence of Level, optional
        The first levels, from an earlier run on the same X: not searched for again, and yielded as they are.

    Yields
    ------
    Level
        From coarse to fine.

    Raises
    ------
    FloatingPointError
        If the factors are no longer finite numbers.
    """
    if not np.isfinite(engine.norm2):
        raise FloatingPointError("X holds NaN, infinite or too large numbers")
    rounding = float(np.finfo(engine.dtype).eps) ** 2 * engine.norm2
    for known in finished:
        if known.n_iter:
            engine.replay(known.U, known.V)
        yield known
    for level in range(len(finished), levels):
        if engine.norm2 <= rounding:  # what is left are rounding errors
            yield _empty_level(engine, settings.components)
            continue
        context, U, V, history, n_iter = _solve(engine, settings, start, level, progress)
        engine.deflate(context)
        if not np.isfinite(engine.norm2):
            raise FloatingPointError(f"level {level + 1} of {levels}: the residual is no longer finite")
        del context  # not kept while the next level begins: its factors are as large as U and V
        yield Level(U, V, history, n_iter, float(np.sqrt(engine.norm2)), engine.nnz)


def _solve(
    engine: Engine, settings: Settings, start: Start, level: int, progress: Progress | None
) -> tuple[Context, NDArray[Any], NDArray[Any], NDArray[np.float64], int]:
    """Find the factors of one level, in balance; where the engine lost them on the way, from the start again."""
    while True:
        try:
            context = engine.begin(start(level))
            history, n_iter, gram_u = _factorize(
                engine, context, settings, lambda *at: progress and progress(level, *at)
            )
            engine.scale(context, balance(gram_u, context.gram))
            return context, *engine.collect(context), history, n_iter
        except LevelLost:
            continue


def balance(gram_u: NDArray[np.float64], gram_v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what to multiply U's columns by, and divide V's by, for equal norms; ``U V^T`` stays.

    The factorization fixes the product, not how its scale is shared. Equal shares make the embedding independent
    of where the solver started, and a regularized classifier depends on them. A component without a share in the
    product gets 0.

    Parameters
    ----------
    gram_u, gram_v : ndarray
        ``U^T U`` and ``V^T V``; their diagonals are the squared norms.
    """
    norm2_u, norm2_v = np.diag(gram_u), np.diag(gram_v)
    alive = (norm2_u > 0) & (norm2_v > 0)
    quotient = np.divide(norm2_v, norm2_u, out=np.zeros_like(norm2_u), where=alive)
    return np.asarray(np.sqrt(np.sqrt(quotient)))


def _factorize(
    engine: Engine, context: Context, settings: Settings, progress: Callable[[int, float], object]
) -> tuple[NDArray[np.float64], int, NDArray[np.float64]]:
    """Solve one level; returns the objective after each pass that was kept, the number of passes, and ``U^T U``."""
    norm2 = engine.norm2
    gram_u = np.zeros_like(context.gram)
    history: list[float] = []
    seeded: set[int] = set()
    step, largest, stepped = FIRST_STEP, 1.0, False
    for n_iter in range(1, settings.max_iter + 1):
        swept = engine.sweep(context, settings.inner)
        product = engine.update(context, swept, settings.inner)
        # ||R - U V||^2 without touching R; in float64, since it cancels.
        objective = max(norm2 - 2 * product + float(np.sum(swept.gram * context.gram)), 0.0) / norm2
        progress(n_iter, objective)
        if not np.isfinite(objective):
            raise FloatingPointError("the factors are no longer finite")
        if stepped and history and objective > history[-1]:
            largest, step, stepped = step, step / STEP_CUT, False
            engine.retreat(context)
            continue
        gain = history[-1] - objective if history else np.inf
        gram_u = swept.gram
        history.append(objective)
        revived = _revive(engine, context, gram_u, seeded)
        if gain < settings.tol * min((1 - objective) / SMALL_SHARE, 1) and not revived:
            break
        stepped = len(history) > 1 and n_iter < settings.max_iter - 1
        engine.extrapolate(context, step if stepped else 0.0)
        if stepped:
            step = min(step * STEP_GROWTH, largest)
    return np.array(history), n_iter, gram_u


def _revive(engine: Engine, context: Context, gram_u: NDArray[np.float64], seeded: set[int]) -> bool:
    """Re-seed dead components, each at most once a level.

    A component that died has a zero column in U, so new values in V leave the product as it is, and the next pass
    finds out whether they are of use.
    """
    dead = [c for c in range(context.components) if gram_u[c, c] == 0 and c not in seeded]
    for c in dead:
        seeded.add(c)
        rng = np.random.default_rng([c, len(seeded)])
        engine.reseed(context, c, rng.random(engine.shape[1], dtype=engine.dtype))
    return bool(dead)


def _empty_level(engine: Engine, components: int) -> Level:
    U, V = (np.zeros((size, components), engine.dtype) for size in engine.shape)
    return Level(U, V, np.zeros(0), 0, 0.0, 0)
