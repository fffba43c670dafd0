"""Giving X to the GPU's engine: built there, or on the host."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from scipy import sparse

from boostne.engines import Engine
from boostne.errors import EngineError, MemoryLimitError
from boostne.graph import Graph
from boostne.models.walk_matrix import WalkOptions
from boostne.progress import Progress, Report

AUTO, CUDA = "auto", "cuda"

logger = logging.getLogger("boostne")


@dataclass(frozen=True)
class DeviceMatrix:
    """DeepWalk's X, to be built on a device; ``form`` is "exact" or "spectral"."""

    graph: Graph
    options: WalkOptions
    form: str
    dtype: Any
    seed: int

    def rows(self, device: str) -> Any:
        """Return the recipe for its rows."""
        from boostne.connectivity.device import ExactRows, SpectralRows

        options = self.options
        common = {
            "window": options.window,
            "negative": options.negative,
            "dtype": self.dtype,
            "device": device,
        }
        if self.form == "exact":
            return ExactRows(self.graph, **common)
        return SpectralRows(self.graph, eigenpairs=options.eigenpairs, seed=self.seed, **common)


def load_gpu(
    name: str, matrix: Callable[[], sparse.csr_array], on_device: DeviceMatrix | None, report: Report
) -> Engine | None:
    """Return the GPU's engine with X; None for "auto" where there is no GPU that X fits.

    Parameters
    ----------
    name : {"cuda", "auto"}
        What was asked for.
    matrix : callable
        Builds X on the host.
    on_device : DeviceMatrix, optional
        Builds it on a device; where there is none, what ``matrix`` built is copied.
    report : callable
        Told how far it is.
    """
    try:
        return _on_gpu(matrix, on_device, report)
    except (EngineError, MemoryLimitError) as error:
        if name != AUTO:
            raise
        logger.info("engine='auto' uses the local engine: %s", error)
        return None


def _on_gpu(matrix: Callable[[], sparse.csr_array], on_device: DeviceMatrix | None, report: Report) -> Engine:
    if find_spec("torch") is None:  # asked first: importing it takes seconds
        raise EngineError(
            "engine='cuda' needs PyTorch, which is not installed: pip install \"boostne[gpu]\", "
            "or use engine='local'"
        )
    from boostne.engines.cuda import CudaEngine, gpu_device

    engine = CudaEngine(gpu_device())
    logger.info("the residual lives on the GPU: %s", engine.describe())
    if on_device is None:
        engine.load(matrix())
    else:
        report(Progress("connectivity", 0.0, "on the GPU"))
        engine.build(
            on_device.rows(engine.device),
            lambda done, n: report(Progress("connectivity", done / n, f"{done:,} of {n:,} rows")),
        )
    return engine
