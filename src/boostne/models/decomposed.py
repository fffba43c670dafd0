"""What the methods share that take a matrix apart into eigenvectors or singular vectors."""

from boostne.models.connected_base import ConnectedEmbedder


class DecompositionEmbedder(ConnectedEmbedder):
    """Base of those methods: the seed starts a solver and touches no more than the last digits."""
