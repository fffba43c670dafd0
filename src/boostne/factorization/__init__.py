"""Where the residual lives: one engine for each kind of machine."""

from typing import TYPE_CHECKING, Any

from boostne.factorization.engine import Context, Engine, Pass
from boostne.factorization.local import LocalEngine
from boostne.kernels import get_kernels

if TYPE_CHECKING:
    from boostne.factorization.dask.factor_store import Keeping

__all__ = ["Context", "Engine", "LocalEngine", "Pass", "make_engine"]


def make_engine(
    name: str,
    *,
    threads: int | None,
    client: Any,
    components: int,
    keeping: "Keeping",
) -> Engine:
    """Return the engine of this name.

    Parameters
    ----------
    name : {"local", "dask"}
        Where the residual lives.
    threads : int, optional
        Threads of this machine, or of each worker; by default all of them.
    client, components, keeping
        For "dask"; see :class:`boostne.factorization.dask.engine.DaskEngine`.
    """
    if name == "dask":
        from boostne.factorization.dask.engine import DaskEngine

        return DaskEngine(client, components, keeping, threads)
    return LocalEngine(get_kernels(threads=threads))
