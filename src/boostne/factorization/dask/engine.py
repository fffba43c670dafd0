"""The engine of a cluster: each worker holds neighboring shards of R and their rows of U.

A pass sends V to every worker along a tree and adds up ``R^T U`` on the way back; V is updated on one worker, the first
(:mod:`.worker_rpc`). Neither X nor R is ever on the client. Shards are cut and added up as on the local
engine, so that the result is the same, bit for bit, where the workers have the same instruction set and X has a shard
for each of them.

When a worker dies, its blocks are built again elsewhere, the finished levels are taken from them once more, and the
level in hand begins again.
"""

import gc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.factorization.dask import worker_block, worker_rpc
from boostne.factorization.dask.block_placement import LOSSES, Holdings
from boostne.factorization.dask.cluster import Cluster
from boostne.factorization.dask.factor_store import InFiles, Keeping, OnClient
from boostne.factorization.dask.worker_block import Change, LevelFiles, Moment, Numbers, State
from boostne.factorization.engine import Context, Engine, LevelLost, Pass
from boostne.io.parts import part_path
from boostne.matrices.source import MatrixRows, Progress, RowSource
from boostne.memory import MemoryBudget


class RemoteContext(Context):
    """V, which is on the first worker; its Gram matrix comes when asked for."""

    def __init__(self, components: int, gram: Callable[[], NDArray[np.float64]]) -> None:
        self.components = components
        self._gram = gram

    @property
    def gram(self) -> NDArray[np.float64]:  # type: ignore[override]
        """``V^T V``."""
        return self._gram()


class DaskEngine(Engine):
    """Holds R on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, str or None
        See :class:`boostne.factorization.dask.cluster.Cluster`.
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
        self._step = 0.0

    def close(self) -> None:
        """Let the workers forget everything."""
        self.__dict__.pop("_holdings", None)
        gc.collect()  # timeouts that Dask raised and we caught hold futures in their tracebacks, in cycles
        self._cluster.close()

    def room(self) -> MemoryBudget:
        """Return what all workers together may still take; see :meth:`Engine.room`."""
        rooms = [worker.room for worker in self._cluster.workers().values()]
        known = [room for room in rooms if room is not None]
        return MemoryBudget(max(sum(known), 0) if len(known) == len(rooms) else None, 0, None)

    def load(self, X: sparse.csr_array) -> None:
        """Send X, which the client has, to every worker; see :meth:`Engine.load`."""
        self.load_rows(MatrixRows(X))

    def load_rows(self, source: RowSource, progress: Progress | None = None) -> None:
        """Build X on the workers; see :meth:`Engine.load_rows`."""
        self._shape, self._dtype = (source.n, source.n), source.dtype
        self._level = 0
        self._holdings = Holdings(self._cluster, source, self._components, self._threads)
        states = self._holdings.restore(self._level, self._keeping)  # workers may have died since
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
        self._gram: NDArray[np.float64] = self._ask(worker_rpc.begin, Moment(self._level, self._attempt), V)
        self._change = "begin"
        return RemoteContext(V.shape[1], self._gram_now)

    def sweep(self, context: Context, inner: int) -> Pass:  # noqa: ARG002
        """Leave it to :meth:`update`: workers do both at one request; see :meth:`Engine.sweep`."""
        return Pass(None, np.zeros((0, 0)))

    def update(self, context: Context, swept: Pass, inner: int) -> float:  # noqa: ARG002
        """Have the workers run the pass, and the first of them update V; see :meth:`Engine.update`."""
        numbers: Numbers = self._ask(worker_rpc.run_pass, self._moment(), inner)
        self._gram, swept.gram, product = numbers
        return product

    def extrapolate(self, context: Context, step: float) -> None:  # noqa: ARG002
        """Have it done before the next pass; see :meth:`Engine.extrapolate`."""
        self._change, self._step = "accept", step

    def retreat(self, context: Context) -> None:  # noqa: ARG002
        """Have it done before the next pass; see :meth:`Engine.retreat`."""
        self._change = "retreat"

    def reseed(self, context: Context, component: int, values: NDArray[Any]) -> None:  # noqa: ARG002
        """Give a component of V new values; see :meth:`Engine.reseed`."""
        self._gram_now()  # what was due comes first
        self._ask(worker_rpc.reseed, Moment(self._level, self._attempt), component, values)

    def scale(self, context: Context, ratio: NDArray[np.float64]) -> None:  # noqa: ARG002
        """Scale U where it is, and V; see :meth:`Engine.scale`."""
        self._ask(worker_rpc.scale, self._moment(), ratio)

    def collect(self, context: Context) -> tuple[NDArray[Any], NDArray[Any]]:
        """Have the factors kept; see :meth:`Engine.collect`. Where that is in files, none of their rows come back."""
        with self._level_in_hand():
            return self._keeping.keep(self._holdings, self._moment(), context.components)

    def deflate(self, context: Context) -> None:  # noqa: ARG002
        """Deflate every block where it is; see :meth:`Engine.deflate`."""
        moment = self._moment()
        self._level += 1
        try:
            states = self._holdings.ask(worker_rpc.deflate, moment)
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
            tasks.append(self._holdings.submit(held.worker, worker_block.write_part, files, ids, *options))
        self._holdings.results(tasks)
        return paths

    def _ask(self, do: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        """Ask the first worker for something that concerns all of them; see :meth:`Holdings.ask`."""
        with self._level_in_hand():
            return self._holdings.ask(do, *arguments)

    def _gram_now(self) -> NDArray[np.float64]:
        """Return ``V^T V`` after what was due."""
        if self._change in ("accept", "retreat"):
            self._gram = self._ask(worker_rpc.settle, self._moment())
        return self._gram

    def _moment(self) -> Moment:
        """Return the time that a task on the blocks belongs to; what was due to U and V is then on its way."""
        moment = Moment(self._level, self._attempt, self._change, self._step)
        self._change = "none"
        return moment

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
