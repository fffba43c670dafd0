"""The Dask engine: the residual on the workers of a cluster."""

from typing import Any

from boostne.factorization.engine import Engine, Recall


def open_engine(engine: Any, components: int, recall: Recall, threads: int | None) -> Engine:
    """Return the engine of a cluster, given as a client, as the address of its scheduler, or as "dask"."""
    from boostne.factorization.dask.engine import DaskEngine
    from boostne.factorization.dask.factor_store import ClientFactorStore

    return DaskEngine(engine, components, ClientFactorStore(recall), threads)
