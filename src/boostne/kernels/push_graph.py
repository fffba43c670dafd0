"""The graph that forward push reads."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from boostne.kernels.csr_graph import TransitionGraph


@dataclass(frozen=True)
class PushGraph(TransitionGraph):
    """A graph whose edges also store the inverse degree of their target.

    Attributes
    ----------
    target_inverse_degree : ndarray
        Inverse degree of the target of each edge. It is read sequentially along with the edge, which avoids a random
        access to ``inverse_degree``.
    """

    target_inverse_degree: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_inverse_degree", self.inverse_degree[self.indices])
