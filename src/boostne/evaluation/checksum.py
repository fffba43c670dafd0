"""Checksums of embeddings and labels, which tie a score to its data."""

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.labels import Labels
from boostne.node_ids import encode_ids


def embedding_sha256(embedding: Embedding) -> str:
    """Return the SHA-256 of ids and vectors, independent of the order of the rows.

    Examples
    --------
    >>> one = Embedding(["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    >>> two = Embedding(["b", "a"], [[3.0, 4.0], [1.0, 2.0]])
    >>> embedding_sha256(one) == embedding_sha256(two)
    True
    """
    order = _order_by_id(embedding.nodes)
    vectors = embedding.vectors
    digest = hashlib.sha256(f"embedding 1 {vectors.shape} {vectors.dtype.name}\n".encode())
    digest.update(_as_bytes(embedding.nodes[order]))
    digest.update(np.ascontiguousarray(vectors[order], dtype=vectors.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def labels_sha256(labels: Labels) -> str:
    """Return the SHA-256 of the labeled nodes and their labels, independent of the order of nodes and classes.

    Examples
    --------
    >>> from boostne import as_labels
    >>> labels_sha256(as_labels({1: "x", 2: ["y", "x"]})) == labels_sha256(as_labels({2: ["x", "y"], 1: "x", 3: []}))
    True
    """
    labeled = np.flatnonzero(np.diff(labels.matrix.indptr))
    used = np.unique(labels.matrix.indices)
    rows = labeled[_order_by_id(labels.nodes[labeled])]
    columns = used[_order_by_id(labels.classes[used])]
    matrix = labels.matrix[rows][:, columns].tocsr()
    matrix.sort_indices()
    digest = hashlib.sha256(f"labels 1 {matrix.shape}\n".encode())
    for ids in (labels.nodes[rows], labels.classes[columns]):
        digest.update(_as_bytes(ids))
    for array in (matrix.indptr, matrix.indices):
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def _order_by_id(ids: NDArray[Any]) -> NDArray[np.intp]:
    _, (rank,) = encode_ids(ids)
    return np.argsort(rank)


def _as_bytes(ids: NDArray[Any]) -> bytes:
    if ids.dtype.kind == "i":
        return b"integers\n" + ids.astype("<i8").tobytes()
    return json.dumps([repr(item) for item in ids.tolist()]).encode()
