"""The targets: name, function and relative share of the time."""

# What the library imports lazily, so that no case is slow because it is the first.
import networkx  # noqa: F401
import pandas  # noqa: F401
import pyarrow.csv
import pyarrow.parquet  # noqa: F401
import scipy.io  # noqa: F401

from fuzz.case import Target
from fuzz.targets import (
    checkpoints,
    command_line,
    embeddings,
    labels,
    matrix_graphs,
    models,
    node_ids,
    objects,
    table_graphs,
    text_graphs,
)

TARGETS = {
    "edgelist": Target(text_graphs.edgelist, 12),
    "adjlist": Target(text_graphs.adjlist, 5),
    "mtx": Target(matrix_graphs.mtx, 5),
    "npz": Target(matrix_graphs.npz, 8),
    "mat": Target(matrix_graphs.mat, 8),
    "parquet": Target(table_graphs.parquet, 8),
    "graphml": Target(table_graphs.graphml, 4),
    "gml": Target(table_graphs.gml, 4),
    "labels": Target(labels.lines, 6),
    "labels-communities": Target(labels.communities, 3),
    "labels-mat": Target(labels.mat, 4),
    "embedding-npz": Target(embeddings.npz, 4),
    "embedding-npy": Target(embeddings.npy, 4),
    "embedding-csv": Target(embeddings.csv, 4),
    "embedding-word2vec": Target(embeddings.word2vec, 4),
    "embedding-parquet": Target(embeddings.parquet, 4),
    "checkpoints": Target(checkpoints.checkpoints, 16),
    "factor-files": Target(checkpoints.factor_files, 4),
    "models": Target(models.models, 6),
    "matrices": Target(objects.matrices, 4),
    "edges": Target(objects.edges, 4),
    "connectivity": Target(objects.connectivity, 4),
    "node-ids": Target(node_ids.node_ids, 4),
    "cli": Target(command_line.in_process, 10),
    "cli-process": Target(command_line.subprocesses, 6),
}
