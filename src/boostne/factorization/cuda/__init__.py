"""The CUDA engine: the residual in the memory of a GPU."""

import logging
from importlib.util import find_spec

from boostne.errors import EngineError
from boostne.factorization.engine import Engine, Recall

logger = logging.getLogger("boostne")


def open_engine(engine: object, components: int, recall: Recall, threads: int | None) -> Engine:  # noqa: ARG001
    """Return the engine of this machine's GPU; raise EngineError if there is none."""
    if find_spec("torch") is None:  # checked first: importing it takes seconds
        raise EngineError(
            "engine='cuda' needs PyTorch, which is not installed: pip install \"boostne[gpu]\", or use engine='local'"
        )
    from boostne.factorization.cuda.engine import CudaEngine, gpu_device

    opened = CudaEngine(gpu_device())
    logger.info("the residual is stored on the GPU: %s", opened.describe())
    return opened
