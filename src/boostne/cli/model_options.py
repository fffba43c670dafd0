"""Options of the methods and of the connectivity matrices."""

from functools import partial

import click

from boostne.cli.estimator import MATRIX_METHODS, MATRIX_NAMES, METHOD_NAMES
from boostne.cli.options import ModelOption, at_least, number


def _check_size(_: click.Context, option: click.Parameter, value: str | None) -> int | None:
    from boostne.memory import parse_bytes

    return None if value is None else parse_bytes(option.opts[0], value)


_WALKS = ("deepwalk", "node2vec")
_SAMPLED = ("line", *_WALKS)

_every = partial(ModelOption, methods=METHOD_NAMES)
_boostne = partial(ModelOption, methods=("boostne",))
_both = partial(ModelOption, methods=MATRIX_METHODS)
_deepwalk_matrix = partial(ModelOption, matrices=("deepwalk",))

_GENERAL = (
    _every(
        ["--dimensions"],
        type=int,
        metavar="N",
        help="Length of a vector. A multiple of --levels for boostne and of --steps for grarep; even for hope and "
        "line.",
    ),
    _every(["--dtype"], type=click.Choice(["float32", "float64"]), help="Precision of the vectors."),
    _every(
        ["--seed", "random_state"],
        type=int,
        metavar="N",
        callback=at_least(0),
        help="Random seed. The same seed gives the same vectors, bit for bit, with any number of threads.",
    ),
    ModelOption(
        ["--threads"],
        type=int,
        metavar="N",
        methods=("boostne", "netmf", "grarep", *_SAMPLED),
        help="Number of threads; on a Dask cluster, per worker. By default all cores.",
    ),
)

_FACTORIZATION = (
    _boostne(["--levels"], type=int, metavar="N", help="Number of levels."),
    ModelOption(
        ["--factorization"],
        type=click.Choice(["nmf", "svd"]),
        methods=("netmf",),
        help="nmf is BoostNE with one level; svd is the original NetMF.",
    ),
    _both(
        ["--tol"],
        type=float,
        metavar="NUMBER",
        help="A level ends when a pass lowers its relative squared error by less than this; on levels that "
        "explain little, by proportionally less.",
    ),
    _both(["--max-iter"], type=int, metavar="N", help="Maximum number of passes per level."),
    _both(
        ["--memory", "memory_limit"],
        metavar="SIZE",
        callback=_check_size,
        help="Memory limit of the process, such as 2GB. The matrix is pruned to fit; if it cannot be, nothing is "
        "computed. By default 80% of the free memory.",
    ),
    _boostne(
        ["--engine"],
        type=click.Choice(["local", "cuda", "dask", "auto"]),
        help="Where the matrix is factorized: in main memory, on a GPU (needs boostne[gpu]) or on a Dask cluster; "
        "auto uses a GPU if there is one and the matrix fits.",
    ),
    _boostne(
        ["--checkpoint"],
        metavar="FOLDER",
        help="Save every finished level here. The same command resumes from it, with bit-identical results.",
    ),
    _boostne(
        ["--keep-matrix"],
        is_flag=True,
        help="Save the matrix in the --checkpoint folder too: uses disk space, and saves rebuilding it.",
    ),
)

_MATRIX = (
    _both(
        ["--connectivity"],
        type=click.Choice(MATRIX_NAMES),
        metavar="NAME",
        help=f"Matrix to factorize: {', '.join(MATRIX_NAMES)}. node2vec suits small graphs.",
    ),
    ModelOption(
        ["--window"],
        type=int,
        metavar="N",
        matrices=("deepwalk", "node2vec", "grarep"),
        methods=_WALKS,
        help="Longest distance on a random walk at which two nodes form a pair.",
    ),
    ModelOption(
        ["--negative"],
        type=number,
        metavar="NUMBER",
        matrices=("deepwalk", "node2vec", "line", "grarep"),
        methods=_SAMPLED,
        help="Number of negative samples per pair; an integer for --method. In a matrix, larger values leave "
        "fewer entries.",
    ),
    ModelOption(
        ["--p"],
        type=float,
        metavar="NUMBER",
        matrices=("node2vec",),
        methods=("node2vec",),
        help="Return parameter: large values keep walks from going back.",
    ),
    ModelOption(
        ["--q"],
        type=float,
        metavar="NUMBER",
        matrices=("node2vec",),
        methods=("node2vec",),
        help="In-out parameter: large values keep walks near their start.",
    ),
    _deepwalk_matrix(
        ["--approximation"],
        type=click.Choice(["auto", "exact", "spectral", "push"]),
        help="exact computes every entry; spectral uses the leading eigenpairs, as in the paper; push keeps the "
        "largest entries of each row, for large graphs; auto is exact if it fits in memory, else push.",
    ),
    _deepwalk_matrix(
        ["--eigenpairs"],
        type=int,
        metavar="N",
        help="For spectral: number of eigenpairs; more than the graph has connected components.",
    ),
    _deepwalk_matrix(
        ["--epsilon"],
        type=float,
        metavar="NUMBER",
        help="For push: walks with less mass than this times the degree of a node stop there; 0 stops none. By "
        "default 0 up to 20,000 nodes, else chosen from --max-per-row and the mean degree.",
    ),
    _deepwalk_matrix(
        ["--max-per-row"],
        type=int,
        metavar="N",
        help="For push: maximum number of entries per row. By default 200; more below 100,000 nodes, fewer if "
        "memory is short.",
    ),
    ModelOption(
        ["--beta"],
        type=float,
        metavar="NUMBER",
        matrices=("katz",),
        methods=("hope",),
        help="Decay of the Katz index, below 1 / ρ(A). By default 1 / (2 ‖A‖).",
    ),
    ModelOption(
        ["--alpha"],
        type=float,
        metavar="NUMBER",
        matrices=("pagerank",),
        methods=("hope",),
        help="Probability that a PageRank walk continues.",
    ),
)

_OTHER_METHODS = (
    ModelOption(["--steps"], type=int, metavar="N", methods=("grarep",), help="Number of random walk steps."),
    ModelOption(
        ["--shift"],
        type=float,
        metavar="NUMBER",
        methods=("grarep",),
        help="Shift of the logarithm. By default 1/n for n nodes with edges.",
    ),
    ModelOption(
        ["--similarity"],
        type=click.Choice(["katz", "pagerank", "common-neighbors", "adamic-adar"]),
        metavar="NAME",
        methods=("hope",),
        help="Proximity to preserve: katz, pagerank, common-neighbors or adamic-adar.",
    ),
    ModelOption(["--walks"], type=int, metavar="N", methods=_WALKS, help="Number of walks per node."),
    ModelOption(["--length"], type=int, metavar="N", methods=_WALKS, help="Number of nodes per walk."),
    ModelOption(
        ["--epochs"],
        type=int,
        metavar="N",
        methods=("line",),
        help="Number of epochs; in each, as many edges are sampled as the graph has.",
    ),
    ModelOption(
        ["--learning-rate"],
        type=float,
        metavar="NUMBER",
        methods=_SAMPLED,
        help="Initial learning rate; decreases linearly.",
    ),
)

CLUSTER_OPTIONS = (
    _boostne(
        ["--scheduler"], metavar="ADDRESS", help="Use the Dask cluster at this address, tcp://HOST:PORT."
    ),
    _boostne(
        ["--workers"],
        type=int,
        callback=at_least(1),
        metavar="N",
        help="Use N Dask workers started on this machine.",
    ),
)

MODEL_SECTIONS = {
    "Embedding": _GENERAL,
    "BoostNE and NetMF": _FACTORIZATION,
    "Connectivity matrix of BoostNE and NetMF": _MATRIX,
    "Other methods": _OTHER_METHODS,
}
MODEL_OPTIONS = tuple(option for options in MODEL_SECTIONS.values() for option in options)
