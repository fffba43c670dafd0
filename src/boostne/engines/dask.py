"""The engine of a cluster: each worker holds neighbouring shards of R and their rows of U.

A pass sends V to every worker and adds up ``R^T U`` along a tree; V is updated on one worker, the first. Neither X
nor R is ever on the client. Shards are cut and added up as on the local engine, so that the result is the same, bit
for bit, where the workers have the same instruction set and X has a shard for each of them.

When a worker dies, its blocks are built again elsewhere, the finished levels are taken from them once more, and the
level in hand begins again.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.connectivity.rows import MatrixRows, Progress, RowSource
from boostne.engines import blocks
from boostne.engines.base import Context, Engine, LevelLost, Pass
from boostne.engines.blocks import Change, LevelFiles, Moment, State
from boostne.engines.cluster import Cluster
from boostne.engines.holdings import LOSSES, Holdings
from boostne.engines.keeping import InFiles, Keeping, OnClient
from boostne.io.parts import part_path
from boostne.memory import Room

if TYPE_CHECKING:
    from distributed import Future

Numbers = tuple[NDArray[np.float64], NDArray[np.float64], float]


@dataclass(frozen=True)
class Handle:
    """V on a worker, as a future of a :class:`boostne.engines.blocks.Factor`, or as a step from there.

    A step is taken by whoever needs it, each worker for itself: quicker than to wait for one of them and its V.
    """

    factor: "Future[Any]"
    accepted: "Future[Any] | None" = None
    step: float | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What tasks take for V."""
        return self.factor, self.accepted, self.step


class RemoteContext(Context):
    """V as a handle; its Gram matrix comes when asked for."""

    def __init__(self, V: Handle, components: int, gram_of: Callable[[Any], NDArray[np.float64]]) -> None:
        self.V = self.accepted = V
        self.components = components
        self._gram_of = gram_of

    @property
    def gram(self) -> NDArray[np.float64]:  # type: ignore[override]
        """``V^T V``."""
        return self._gram_of(self)


class DaskEngine(Engine):
    """Holds R on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, str or None
        See :class:`boostne.engines.cluster.Cluster`.
    components : int
        Width of a level, for the reckoning of memory.
    keeping : Keeping
        Where the factors of finished levels are, for the user and after a loss.
    threads : int, optional
        Threads of each worker to use; by default those that it has.
    """

    def __init__(self, client: Any, components: int, keeping: Keeping, threads: int | None = None) -> None:
        self._cluster = Cluster(client)
        self._components = components
        self._keeping = keeping
        keeping.check(self._cluster)
        self._threads = threads
        self._attempt = 0
        self._change: Change = "none"
        self._known: tuple[Any, Numbers] | None = None

    def close(self) -> None:
        """Let the workers forget everything."""
        self._known = None
        self.__dict__.pop("_holdings", None)
        gc.collect()  # timeouts that Dask raised and we caught hold futures in their tracebacks, in cycles
        self._cluster.close()

    def room(self) -> Room:
        """Return what all workers together may still take; see :meth:`Engine.room`."""
        rooms = [worker.room for worker in self._cluster.workers().values()]
        known = [room for room in rooms if room is not None]
        return Room(max(sum(known), 0) if len(known) == len(rooms) else None, 0, None)

    def load(self, X: sparse.csr_array) -> None:
        """Send X, which the client has, to every worker; see :meth:`Engine.load`."""
        self.load_rows(MatrixRows(X))

    def load_rows(self, source: RowSource, progress: Progress | None = None) -> None:
        """Build X on the workers; see :meth:`Engine.load_rows`."""
        self._shape, self._dtype = (source.n, source.n), source.dtype
        self._level = 0
        self._holdings = Holdings(self._cluster, source, self._components, self._threads)
        states = self._holdings.states()
        self._learn(states)
        # As the local engine adds them: one after the other here, pairwise after a deflation.
        self._norm2 = float(sum(np.concatenate([state.norms for state in states]).tolist()))
        if progress is not None:
            progress(source.n, source.n)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of R."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of R."""
        return self._dtype

    @property
    def norm2(self) -> float:
        """Squared norm of R, from the last deflation."""
        return self._norm2

    @property
    def nnz(self) -> int:
        """Positive entries of R."""
        return self._nnz

    def begin(self, V: NDArray[Any]) -> Context:
        """Send V to the first worker; see :meth:`Engine.begin`."""
        self._attempt += 1
        self._change = "begin"
        with self._level_in_hand():
            sent = self._holdings.send(V, {self._holdings.first.address})
        handle = Handle(self._on_first(blocks.start, sent))
        return RemoteContext(handle, V.shape[1], lambda context: self._numbers(self._factor(context))[0])

    def sweep(self, context: Context, inner: int) -> Pass:
        """Ask every worker for its pass, without waiting for it; see :meth:`Engine.sweep`."""
        sums = self._holdings.on_all(blocks.sweep, self._moment(), *context.V.arguments, inner)
        return Pass(sums, np.zeros((0, 0)))

    def update(self, context: Context, swept: Pass, inner: int) -> float:
        """Add up the pass along a tree and update V on the first worker; see :meth:`Engine.update`."""
        V = self._on_first(blocks.update, *context.V.arguments, self._joined(swept.C), inner)
        context.V = Handle(V)
        _, swept.gram, product = self._numbers(V)
        return product

    def extrapolate(self, context: Context, step: float) -> None:
        """Make a new V of two; see :meth:`Engine.extrapolate`."""
        V, accepted = self._factor(context), context.accepted.factor
        context.V, context.accepted = Handle(V, accepted, step), Handle(V)
        self._change = "accept"

    def retreat(self, context: Context) -> None:
        """Go on from the V and the U that were accepted; see :meth:`Engine.retreat`."""
        context.V = Handle(context.accepted.factor, context.V.factor, 0.0)
        self._change = "retreat"

    def reseed(self, context: Context, component: int, values: NDArray[Any]) -> None:
        """Give a component of V new values; see :meth:`Engine.reseed`."""
        context.V = Handle(self._on_first(blocks.reseed, self._factor(context), component, values))

    def scale(self, context: Context, ratio: NDArray[np.float64]) -> None:
        """Scale U where it is, and V; see :meth:`Engine.scale`."""
        with self._level_in_hand():
            self._holdings.results(self._holdings.on_all(blocks.scale_rows, self._moment(), ratio))
        context.V = Handle(self._on_first(blocks.scale, self._factor(context), ratio))

    def collect(self, context: Context) -> tuple[NDArray[Any], NDArray[Any]]:
        """Have the factors kept; see :meth:`Engine.collect`. Where that is in files, none of their rows come back."""
        with self._level_in_hand():
            return self._keeping.keep(
                self._holdings, self._moment(), self._factor(context), context.components
            )

    def deflate(self, context: Context) -> None:
        """Deflate every block where it is; see :meth:`Engine.deflate`."""
        moment = self._moment()
        self._level += 1
        try:
            states = self._holdings.results(
                self._holdings.on_all(blocks.deflate, moment, self._factor(context))
            )
        except LOSSES:
            states = self._holdings.restore(self._level, self._keeping)
        self._learn(states)
        self._keeping.let_go()

    def replay(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Take a level from every block as after a loss; see :meth:`Engine.replay`."""
        self._level += 1
        self._learn(self._holdings.restore(self._level, OnClient(lambda _: (U, V))))

    def write_parts(self, folder: Path, nodes: NDArray[Any], levels: int) -> list[Path]:
        """Have each worker write the vectors of its rows as a Parquet file, from the files of all levels.

        Parameters
        ----------
        folder : Path
            Seen by all machines.
        nodes : ndarray
            Ids of the rows.
        levels : int
            k.
        """
        if not isinstance(self._keeping, InFiles):
            raise TypeError("the factors are on the client; parts are written of those in files")
        while True:
            try:
                return self._written(self._keeping.files, folder, nodes, [self._components] * levels)
            except LOSSES:
                self._learn(self._holdings.restore(self._level, self._keeping))

    def _written(self, files: LevelFiles, folder: Path, nodes: NDArray[Any], widths: list[int]) -> list[Path]:
        paths, tasks = [], []
        for i, held in enumerate(self._holdings.held):
            rows = held.place.rows
            paths.append(part_path(folder, i))
            ids = self._holdings.send(nodes[rows.start : rows.stop], {held.worker.address})
            options = (rows.start, widths, self._dtype.name, str(paths[-1].resolve()))
            tasks.append(self._holdings.submit(held.worker, blocks.write_part, files, ids, *options))
        self._holdings.results(tasks)
        return paths

    def _joined(self, sums: list["Future[Any]"]) -> list["Future[Any]"]:
        """Add neighbours on the worker of the left one, until there are no more than two."""
        workers = [held.worker for held in self._holdings.held]
        while len(sums) > 2:  # noqa: PLR2004
            pairs = [sums[i : i + 2] for i in range(0, len(sums), 2)]
            workers = workers[::2]
            sums = [
                self._holdings.submit(worker, blocks.join_sums, pair) if len(pair) > 1 else pair[0]
                for worker, pair in zip(workers, pairs, strict=True)
            ]
        return sums

    def _on_first(self, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a task on the worker that has V."""
        return self._holdings.submit(self._holdings.first, task, *arguments)

    def _factor(self, context: Context) -> "Future[Any]":
        """Return V as a future of its own."""
        if context.V.step is not None:
            context.V = Handle(self._on_first(blocks.stepped, *context.V.arguments))
        factor: Future[Any] = context.V.factor
        return factor

    def _moment(self) -> Moment:
        """Return the time that a task on the blocks belongs to; what was due for U is then on its way."""
        moment = Moment(self._level, self._attempt, self._change)
        self._change = "none"
        return moment

    def _numbers(self, V: "Future[Any]") -> Numbers:
        """Fetch what is known of V and of the pass before it, once."""
        if self._known is None or self._known[0] != V.key:
            with self._level_in_hand():
                (found,) = self._holdings.results([self._on_first(blocks.numbers, V)])
            self._known = V.key, found
        numbers: Numbers = self._known[1]
        return numbers

    @contextmanager
    def _level_in_hand(self) -> Iterator[None]:
        """Turn a loss into a level that must begin again, once everything is there for it."""
        try:
            yield
        except LOSSES as error:
            self._learn(self._holdings.restore(self._level, self._keeping))
            raise LevelLost from error

    def _learn(self, states: list[State]) -> None:
        self._norm2 = float(np.concatenate([state.norms for state in states]).sum())
        self._nnz = sum(state.nnz for state in states)
