"""Readers and writers of graphs, labels and embeddings."""

from boostne.io.embeddings import read_embedding, write_embedding
from boostne.io.graphs import read_graph
from boostne.io.labels import read_labels

__all__ = ["read_embedding", "read_graph", "read_labels", "write_embedding"]
