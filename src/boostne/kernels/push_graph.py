"""The graph that forward push reads."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from boostne.array_chunks import gather
from boostne.kernels.csr_graph import TransitionGraph


@dataclass(frozen=True)
class PushGraph(TransitionGraph):
    """A graph whose edges also store the inverse degree of their target.

    Attributes
    ----------
    inverse_mass : ndarray, optional
        For a directed graph, the inverse of the mass that arrives at each node if walks start everywhere; 0 for nodes
        that are never reached. In an undirected graph, that mass is proportional to the degree.
    target_inverse_degree : ndarray
        ``inverse_visits`` of the target of each edge. It is read sequentially along with the edge, which avoids a
        random access.
    """

    inverse_mass: NDArray[Any] | None = None
    target_inverse_degree: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_inverse_degree", gather(self.inverse_visits, self.indices))

    @property
    def directed(self) -> bool:
        """Whether the mass that arrives at a node is not proportional to its degree."""
        return self.inverse_mass is not None

    @property
    def inverse_visits(self) -> NDArray[Any]:
        """By what the mass that arrives at a node is multiplied: ``inverse_mass``, or else the inverse degree."""
        return self.inverse_degree if self.inverse_mass is None else self.inverse_mass
