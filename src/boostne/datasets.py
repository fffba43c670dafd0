"""Labeled graphs: two built-in ones and the four of the BoostNE paper.

The latter are read from the folder named by the environment variable ``BOOSTNE_DATA`` (as ``cora/cora_labels.txt``
and so on), or else downloaded once to the user's cache. Their SHA-256 checksums are verified, and the numbers of
nodes, edges and classes must match Table II of the paper.
"""

import hashlib
import os
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.errors import BoostneError, FileFormatError, ParameterError

if TYPE_CHECKING:
    from boostne.graph import Graph
    from boostne.labels import Labels

_DIGIT_NEIGHBORS = 10

# Zachary's karate club: the neighbors of each node with larger numbers, and the club that each member joined.
_KARATE_EDGES = """
0:1,2,3,4,5,6,7,8,10,11,12,13,17,19,21,31 1:2,3,7,13,17,19,21,30 2:3,7,8,9,13,27,28,32 3:7,12,13
4:6,10 5:6,10,16 6:16 8:30,32,33 9:33 13:33 14:32,33 15:32,33 18:32,33 19:33 20:32,33 22:32,33
23:25,27,29,32,33 24:25,27,31 25:31 26:29,33 27:33 28:31,33 29:32,33 30:32,33 31:32,33 32:33
"""
_KARATE_CLUBS = "HHHHHHHHHOHHHHOOHHOHOHOOOOOOOOOOOO"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with labeled nodes.

    Attributes
    ----------
    graph : Graph
        Undirected, unweighted, without self-loops or isolated nodes.
    labels : Labels
        One row per node of the graph, in the same order.
    name : str
    features : array of shape (n, f), or None
        For "digits", the 64 pixels of each image, from 0 to 1.
    """

    graph: "Graph"
    labels: "Labels"
    name: str
    features: NDArray[np.float64] | None = None


class DatasetInfo(NamedTuple):
    """Size and origin of a data set, and whether it is ``present``: available without a download."""

    name: str
    nodes: int
    edges: int
    classes: int
    source: str
    present: bool


@dataclass(frozen=True)
class _RemoteFile:
    """A file in a public GitHub repository; ``commit`` is ``owner/repository/hash``."""

    commit: str
    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def url(self) -> str:
        return f"https://raw.githubusercontent.com/{self.commit}/{self.path}"


@dataclass(frozen=True)
class _Specification:
    """Expected size and origin of a data set; ``source`` is a commit if there are files to download."""

    nodes: int
    edges: int
    classes: int
    source: str
    checksums: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> list[_RemoteFile]:
        return [_RemoteFile(self.source, path, sha256) for path, sha256 in self.checksums.items()]


_OPEN_NE = "thunlp/OpenNE/7b86f4ca25fca3f441f593335fa57dc7dffb3b29"
_PRO_NE = "THUDM/ProNE/873630a5943f3eba8f4bbc9751fdf16af98d2171"
_DEEP_WALK = "phanein/deepwalk/6e6dff245e4692e9bea47e9017c1034e51afbf29"
_CORA = {
    "data/cora/cora_edgelist.txt": "bdab43591bf44e2870280e36bd0f215f04cfcf019c08347d90da4a7a4f5c5775",
    "data/cora/cora_labels.txt": "f6b5e9a0306dde91f56ce5bfa413b9d7afc7756590a8230f9e5a37ba2581299e",
}
_WIKI = {
    "data/wiki/Wiki_edgelist.txt": "72fccd28e5a927a752b6fbf38c971884b0a783dd124c5e8e2c9e27ac7bdd84f5",
    "data/wiki/wiki_labels.txt": "600541ba4563097b1e1796b6b0ffa110f17a0e71b1ac7e5c66dc11c512077774",
}
_PPI = {
    "data/PPI.ungraph": "853faf8f8f9705d0ccf2f12db80277cc779ccef04ba6a8703671138dca76796a",
    "data/PPI.cmty": "d57a61e7cc5c46acafdd370c5126a2a5c57cb23f1a84ed1d0877f20149c90637",
}
_BLOGCATALOG = {"example_graphs/blogcatalog.mat": "d4f4fb89ce1ccd4b7e2a183386c000773cc9362cc61f1be5b246a6d9c259da8f"}
_DATASETS = {
    "digits": _Specification(1797, 12339, 10, "scikit-learn's handwritten digits, 10 nearest neighbors"),
    "karate": _Specification(34, 78, 2, "Zachary 1977"),
    "cora": _Specification(2708, 5278, 7, _OPEN_NE, _CORA),
    "wiki": _Specification(2363, 11596, 17, _OPEN_NE, _WIKI),
    "ppi": _Specification(3860, 37845, 50, _PRO_NE, _PPI),
    "blogcatalog": _Specification(10312, 333983, 39, _DEEP_WALK, _BLOGCATALOG),
}


DATASET_NAMES = tuple(_DATASETS)


def load_dataset(name: str) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        "digits", "karate", "cora", "wiki", "ppi" or "blogcatalog".

    Returns
    -------
    Dataset

    Examples
    --------
    >>> karate = load_dataset("karate")
    >>> karate.graph
    Graph(34 nodes, 78 edges, undirected, unweighted)
    """
    if name not in _DATASETS:
        close = get_close_matches(str(name).lower(), _DATASETS, n=3)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"available: {', '.join(_DATASETS)}"
        raise ParameterError(f"unknown data set {name!r}; {hint}")
    built_in = {"digits": _load_digits, "karate": _load_karate}
    dataset = built_in[name]() if name in built_in else _load_published(name)
    _check_size(dataset)
    return dataset


def list_datasets() -> list[DatasetInfo]:
    """Describe the available data sets; checks for each whether its files are on this machine.

    :data:`DATASET_NAMES` has the names alone.

    Examples
    --------
    >>> [row.name for row in list_datasets()]
    ['digits', 'karate', 'cora', 'wiki', 'ppi', 'blogcatalog']
    """
    return [
        DatasetInfo(
            name,
            specification.nodes,
            specification.edges,
            specification.classes,
            specification.source,
            all(_find_local(name, file) is not None for file in specification.files),
        )
        for name, specification in _DATASETS.items()
    ]


def _check_size(dataset: Dataset) -> None:
    specification = _DATASETS[dataset.name]
    expected = (specification.nodes, specification.edges, specification.classes)
    classes = int(np.count_nonzero(dataset.labels.matrix.sum(axis=0)))
    got = (dataset.graph.n_nodes, dataset.graph.n_edges, classes)
    if got != expected:
        raise FileFormatError(
            f"the data set {dataset.name!r} must have (nodes, edges, classes) = {expected}, got {got}"
        )


def _load_karate() -> Dataset:
    from boostne.graph import Graph
    from boostne.labels import as_labels

    edges = [
        (int(node), int(neighbor))
        for node, _, neighbors in (item.partition(":") for item in _KARATE_EDGES.split())
        for neighbor in neighbors.split(",")
    ]
    clubs = {"H": "Mr. Hi", "O": "Officer"}
    labels = as_labels({node: clubs[letter] for node, letter in enumerate(_KARATE_CLUBS)})
    return Dataset(Graph.from_edges(*zip(*edges, strict=True)), labels, "karate")


def _load_digits() -> Dataset:
    from sklearn.datasets import load_digits
    from sklearn.metrics.pairwise import euclidean_distances

    from boostne.graph import Graph
    from boostne.labels import as_labels

    pixels, digits = load_digits(return_X_y=True)
    # The pixels are integers, so the distances are exact, and a stable sort breaks ties the same way everywhere.
    distances = euclidean_distances(pixels, squared=True)
    np.fill_diagonal(distances, np.inf)
    neighbors = np.argsort(distances, axis=1, kind="stable")[:, :_DIGIT_NEIGHBORS]
    source = np.repeat(np.arange(len(pixels)), _DIGIT_NEIGHBORS)
    graph = Graph.from_indices(np.arange(len(pixels)), source, neighbors.ravel())
    labels = as_labels(dict(enumerate(digits.tolist())))
    return Dataset(graph, labels, "digits", pixels / pixels.max())


def _load_published(name: str) -> Dataset:
    from boostne.io import read_graph, read_labels
    from boostne.labels import Labels

    paths = [_fetch(name, file) for file in _DATASETS[name].files]
    graph = read_graph(paths[0], self_loops="keep").without_self_loops().without_isolated()
    labels = read_labels(paths[-1])  # blogcatalog: graph and labels in one file
    indicator, _ = labels.align(graph.nodes)
    return Dataset(graph, Labels(graph.nodes, labels.classes, indicator), name)


def _fetch(name: str, file: _RemoteFile) -> Path:
    """Return the path of a file with a verified checksum, downloading it if necessary."""
    path = _find_local(name, file)
    if path is None:
        return _download(name, file)
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != file.sha256:
        raise FileFormatError(f"{path}: SHA-256 is {found}, expected {file.sha256}; replace it with {file.url}")
    return path


def _find_local(name: str, file: _RemoteFile) -> Path | None:
    """Return the path of a file under ``BOOSTNE_DATA`` or in the cache; None if it is in neither."""
    data = os.environ.get("BOOSTNE_DATA")
    folders = [Path(data) / name, _cache_folder(name)] if data else [_cache_folder(name)]
    return next((folder / file.name for folder in folders if (folder / file.name).is_file()), None)


def _cache_folder(name: str) -> Path:
    import pooch

    return Path(pooch.os_cache("boostne")) / name


def _download(name: str, file: _RemoteFile) -> Path:
    import pooch

    try:
        return Path(pooch.retrieve(file.url, f"sha256:{file.sha256}", fname=file.name, path=_cache_folder(name)))
    except (OSError, ValueError) as error:  # no network or no such page; wrong checksum
        raise BoostneError(
            f"cannot download {file.url} ({error}). Obtain the file with SHA-256 {file.sha256} in another way, "
            f"save it as {name}/{file.name} in a folder, and set the environment variable BOOSTNE_DATA to that folder"
        ) from error
