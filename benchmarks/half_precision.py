"""What it costs to store R in half precision: accuracy with its values rounded to 16 bits, and the memory saved.

Rounding is simulated: X is rounded after it is built, and R after each level. An entry of R takes 8 bytes, of which
16-bit values would save 2.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import save, show
from benchmarks.graph_kinds import generate
from benchmarks.quality import DATASETS
from boostne import BoostNE, evaluate, load_dataset, planted_partition
from boostne.datasets import Dataset
from boostne.factorization import local
from boostne.matrices import MatrixSource
from boostne.progress import ProgressCallback, silent

TRAIN = (2, 10, 50, 90)
SEED = 100
GENERATED: dict[str, Callable[[], Dataset]] = {
    "planted partition, 200,000 nodes": lambda: planted_partition(200_000, seed=SEED),
    "overlapping, degree 10, 60,000 nodes": lambda: generate("overlapping, degree 10", 60_000, seed=SEED),
}
GENERATED_TRAIN = (1, 10)
Rounding = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def run() -> None:
    """Score the data sets and two graphs with a pruned X, in each precision."""
    rows = []
    for name in DATASETS:
        rows += compared(name, load_dataset(name), TRAIN)
    for name, make in GENERATED.items():
        rows += compared(name, make(), GENERATED_TRAIN)
    show("Mean Micro-F1 of ten splits with the values of R rounded", rows)
    save("half_precision", rows)


def compared(name: str, data: Dataset, train: tuple[int, ...]) -> list[dict[str, Any]]:
    """Score the default setting in each precision."""
    rows = []
    for precision, rounding in ROUNDINGS.items():
        with rounded_residual(rounding):
            model = BoostNE().fit(data.graph)
        result = evaluate(model.embedding_, data.labels, train=train, classifier="fast")
        residual = float(model.residual_norms_[-1] / model.residual_norms_[0])
        row = {"graph": name, "precision": precision, "residual": residual}
        scores = result.mean("micro")
        rows.append(row | {f"micro {ratio}%": float(value) for ratio, value in zip(train, scores, strict=True)})
    show("so far", rows)
    return rows


@contextmanager
def rounded_residual(rounding: Rounding) -> Iterator[None]:
    """Round the values of R of all models that are fitted meanwhile."""

    class RoundedEngine(local.LocalEngine):
        def load(self, source: MatrixSource, progress: ProgressCallback = silent) -> None:
            super().load(source, progress)
            self._round()

        def deflate(self) -> None:
            super().deflate()
            self._round()

        def _round(self) -> None:
            for s in range(self._R.n_shards):
                values = self._R.values(s)
                values[:] = rounding(values)

    with mock.patch.object(local, "LocalEngine", RoundedEngine):
        yield


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to nearest, ties to even, keeping the upper half of each float32."""
    bits = values.view(np.uint32)
    upper = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return upper.view(np.float32)


def to_float16(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to nearest, ties to even."""
    return values.astype(np.float16).astype(np.float32)


ROUNDINGS: dict[str, Rounding] = {"float32": np.copy, "float16": to_float16, "bfloat16": to_bfloat16}
