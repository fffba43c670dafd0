"""Options of the methods and of the connectivity matrices."""

from typing import Any

import click

from boostne.cli.estimator import MATRIX_METHODS, matrix_classes
from boostne.cli.options import ModelOption, RegistryChoice, at_least, kind_settings, number, number_or_auto


def _check_size(_: click.Context, option: click.Parameter, value: str | None) -> int | None:
    from boostne.memory import parse_bytes

    return None if value is None else parse_bytes(option.opts[0], value)


def _option(
    flag: str, kind: Any, methods: Any, matrices: Any, text: str, name: str = "", **settings: Any
) -> ModelOption:
    declarations = [flag, name] if name else [flag]
    return ModelOption(declarations, methods=methods, matrices=matrices, help=text, **kind_settings(kind), **settings)


_BOOSTNE = ("boostne",)
_WALKS = ("deepwalk", "node2vec")
_SAMPLED = ("line", *_WALKS)
_THREADED = ("boostne", "netmf", "grarep", *_SAMPLED)
_WALK_MATRICES = ("deepwalk", "node2vec", "grarep")
_DEEPWALK, _NODE2VEC = ("deepwalk",), ("node2vec",)

# Flag, kind, the methods and the matrices that it belongs to, and the help text.
_GENERAL = (
    _option("--dimensions", int, (), (),
            "Vector length: a multiple of --levels for boostne and of --steps for grarep; even for hope and line."),
    _option("--dtype", ["float32", "float64"], (), (), "Precision of the vectors."),
    _option("--seed", int, (), (),
            "Random seed. The same seed gives the same vectors, bit for bit, with any number of threads.",
            name="random_state", callback=at_least(0)),
    _option("--threads", int, _THREADED, (), "Number of threads; on a Dask cluster, per worker. By default all cores."),
)  # fmt: skip

_FACTORIZATION = (
    _option("--levels", int, _BOOSTNE, (), "Number of levels."),
    _option("--factorization", ["nmf", "svd"], ("netmf",), (),
            "nmf is BoostNE with one level; svd is the original NetMF."),
    _option("--tol", float, MATRIX_METHODS, (),
            "A level ends when a pass lowers its relative squared error by less than this; on levels that explain "
            "little, by proportionally less."),
    _option("--max-iter", int, MATRIX_METHODS, (), "Maximum number of passes per level."),
    _option("--memory", "SIZE", MATRIX_METHODS, (),
            "Memory limit of the process, such as 2GB. The matrix is pruned to fit; if it cannot be, nothing is "
            "computed. By default 80% of the free memory.", name="memory_limit", callback=_check_size),
    _option("--setting", ["recommended", "paper"], _BOOSTNE, (),
            "What the options that are not given stand for: recommended is chosen for the graph; paper is the setting "
            "of the paper: window 10, 256 eigenpairs, vectors as factorized.  [default: recommended]"),
    _option("--propagate", number_or_auto, _BOOSTNE, (),
            "Average each vector with those of the neighbors, with this weight from 0 to 1; 0 does not. By default "
            "(auto) 0.6, 0.9 if the matrix is pruned, 0.8 if the graph is directed, and 0 for a folder of parts.",
            name="propagation"),
    _option("--vector-length", number_or_auto, _BOOSTNE, (),
            "Mean length of the vectors, after each was divided by the square root of its length unless the graph is "
            "directed; 0 leaves the lengths as they are. By default (auto) 2.5, or 0 for a folder of parts."),
    _option("--engine", ["local", "cuda", "dask", "auto"], _BOOSTNE, (),
            "Where the matrix is factorized: in main memory, on a GPU (needs boostne[gpu]) or on a Dask cluster; auto "
            "uses a GPU if there is one and the matrix fits."),
    _option("--checkpoint", "FOLDER", _BOOSTNE, (),
            "Save every finished level here. The same command resumes from it, with bit-identical results. With "
            "a folder of parts as output, the workers write into this folder, too, and must all see it."),
    _option("--keep-matrix", bool, _BOOSTNE, (),
            "Save the matrix in the --checkpoint folder too: uses disk space, and saves rebuilding it."),
)  # fmt: skip

_MATRIX = (
    _option("--connectivity", RegistryChoice(matrix_classes), MATRIX_METHODS, (),
            "Matrix to factorize. node2vec suits small graphs."),
    _option("--window", int, _WALKS, _WALK_MATRICES,
            "Longest distance on a random walk at which two nodes form a pair. In the matrix deepwalk by default 15, 5 "
            "or 1, chosen for the graph."),
    _option("--negative", number, _SAMPLED, ("deepwalk", "node2vec", "line", "grarep"),
            "Number of negative samples per pair; an integer for --method. In a matrix, larger values leave fewer "
            "entries."),
    _option("--p", float, _NODE2VEC, _NODE2VEC, "Return parameter: large values keep walks from going back."),
    _option("--q", float, _NODE2VEC, _NODE2VEC, "In-out parameter: large values keep walks near their start."),
    _option("--approximation", ["auto", "exact", "spectral", "push"], (), _DEEPWALK,
            "exact computes every entry; spectral uses the leading eigenpairs, as in the paper; push keeps the largest "
            "entries of each row, for large graphs; auto is push above 20,000 nodes and if memory is short, else "
            "spectral for dense undirected graphs, else exact."),
    _option("--eigenpairs", int, (), _DEEPWALK,
            "For spectral: number of eigenpairs; more than the graph has connected components."),
    _option("--epsilon", float, (), _DEEPWALK,
            "For push: walks with less mass than this times the degree of a node stop there; 0 stops none. By default "
            "0 up to 20,000 nodes, else chosen from --max-per-row and the mean degree."),
    _option("--max-per-row", int, (), _DEEPWALK,
            "For push: maximum number of entries per row. By default 200; more below 100,000 nodes, fewer above "
            "500,000 and if memory is short."),
    _option("--beta", float, ("hope",), ("katz",),
            "Decay of the Katz index, below 1 / ρ(A). By default 1 / (2 ‖A‖)."),
    _option("--alpha", float, ("hope",), ("pagerank",), "Probability that a PageRank walk continues."),
)  # fmt: skip

_OTHER_METHODS = (
    _option("--steps", int, ("grarep",), (), "Number of random walk steps."),
    _option("--shift", float, ("grarep",), (), "Shift of the logarithm. By default 1/n for n nodes with edges."),
    _option("--similarity", ["katz", "pagerank", "common-neighbors", "adamic-adar"], ("hope",), (),
            "Proximity to preserve: katz, pagerank, common-neighbors or adamic-adar.", metavar="NAME"),
    _option("--walks", int, _WALKS, (), "Number of walks per node."),
    _option("--length", int, _WALKS, (), "Number of nodes per walk."),
    _option("--epochs", int, ("line",), (),
            "Number of epochs; in each, as many edges are sampled as the graph has."),
    _option("--learning-rate", float, _SAMPLED, (), "Initial learning rate; decreases linearly."),
)  # fmt: skip

CLUSTER_OPTIONS = (
    _option("--scheduler", "ADDRESS", _BOOSTNE, (),
            "Use the Dask cluster at this address, tcp://HOST:PORT or tls://HOST:PORT."),
    _option("--workers", int, _BOOSTNE, (), "Use N Dask workers started on this machine.", callback=at_least(1)),
)  # fmt: skip

MODEL_SECTIONS = {
    "Embedding": _GENERAL,
    "BoostNE and NetMF": _FACTORIZATION,
    "Connectivity matrix of BoostNE and NetMF": _MATRIX,
    "Other methods": _OTHER_METHODS,
}
MODEL_OPTIONS = tuple(option for options in MODEL_SECTIONS.values() for option in options)
