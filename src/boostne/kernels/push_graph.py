"""The graph that forward push reads."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from boostne.kernels.csr_graph import TransitionGraph


@dataclass(frozen=True)
class PushGraph(TransitionGraph):
    """A graph whose edges also store a number of their target: by what the mass that arrives there is multiplied.

    Attributes
    ----------
    visits : ndarray, optional
        For a directed graph, the inverse of the mass that arrives at each node if walks start everywhere, which takes
        the place of the inverse degree there; 0 for nodes that are never reached.
    target_inverse_degree : ndarray
        ``inverse_visits`` of the target of each edge. It is read sequentially along with the edge, which avoids a
        random access.
    """

    visits: NDArray[Any] | None = None
    target_inverse_degree: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_inverse_degree", self.inverse_visits[self.indices])

    @property
    def directed(self) -> bool:
        """Whether the mass that arrives at a node is not proportional to its degree."""
        return self.visits is not None

    @property
    def inverse_visits(self) -> NDArray[Any]:
        """Inverse of the mass that arrives at each node, in an undirected graph its inverse degree."""
        return self.inverse_degree if self.visits is None else self.visits
