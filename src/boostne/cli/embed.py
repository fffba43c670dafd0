"""The commands ``embed`` and ``estimate``."""

import json
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, json_option, no_notes_option, quiet_option
from boostne.cli.estimator import MATRIX_METHODS, check_direction, make_estimator, matrix_classes, method_classes
from boostne.cli.file_options import GRAPH_FILE_OPTIONS, GRAPH_FILE_SECTION
from boostne.cli.inputs import load_graph, worker_read_options
from boostne.cli.model_options import CLUSTER_OPTIONS, MODEL_OPTIONS, MODEL_SECTIONS
from boostne.cli.options import RegistryChoice, check_model_options, given, to_undirected_option
from boostne.cli.outputs import check_embedding_output, check_output
from boostne.cli.screen import describe_embedding, duration, print_pairs
from boostne.cli.session import session_of
from boostne.errors import ParameterError
from boostne.progress import Progress

if TYPE_CHECKING:
    from boostne.graph import Graph

_COMMON = (
    "output",
    "method",
    "dimensions",
    "levels",
    "window",
    "directed",
    "model",
    "random_state",
    "threads",
    "memory_limit",
)

_FIT_MODULES = 1_000_000  # bytes of the modules that 'embed' imports and 'estimate' does not

method_option = click.option(
    "--method",
    type=RegistryChoice(method_classes),
    metavar="NAME",
    default="boostne",
    show_default=True,
    help="Embedding method; 'boostne methods' lists them.",
)


_bipartite_option = click.option(
    "--bipartite",
    is_flag=True,
    help="The two columns of edges are the sides of a bipartite graph, such as users and items, and share no id. The "
    "vectors are those of the first side; the model has both, for 'boostne recommend'.  [--method boostne]",
)


@click.command(
    cls=Command,
    help="""Embed the nodes of a graph.

    GRAPH is a file or the name of a data set (see 'boostne datasets'); a file takes precedence. The suffix of the
    output selects its format. Brackets after an option show the methods or matrices that it belongs to; with others
    it is an error.

    With --directed, boostne gives each node two vectors, as source and as target of edges: the latter are in the same
    .npz file, or in a second file NAME.targets.SUFFIX.
    """,
    examples=[
        "boostne embed edges.csv -o vectors.npz",
        "boostne embed digits -o digits.parquet --dimensions 64 --levels 4",
        "boostne embed links.tsv.gz -o links.emb --source from --target to --no-weight",
        "boostne embed citations.txt -o citations.npz --directed",
        "boostne embed cora -o cora.npz --approximation spectral --seed 1",
        "boostne embed cora -o cora.npz --connectivity node2vec --p 0.5",
        "boostne embed cora -o cora.npz --method deepwalk --walks 20",
        "boostne embed edges.csv -o vectors.npz --model model.npz",
        "boostne embed purchases.csv -o users.npz --bipartite --model model.npz",
        "boostne embed large.txt -o large.npz --memory 4GB",
        "boostne embed large.txt -o large.npz --scheduler tcp://10.0.0.1:8786",
        "boostne embed /nas/huge.parquet -o /nas/huge/ --scheduler tcp://10.0.0.1:8786",
    ],
    sections={**MODEL_SECTIONS, "Dask cluster": CLUSTER_OPTIONS, GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS},
    common=_COMMON,
)
@click.argument("graph")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    help="File to write: .npz, .npy, .parquet, .csv, .emb or .txt (word2vec). With --scheduler or --workers also "
    "a folder, FOLDER/, in which the workers write Parquet parts; then they read a GRAPH that is a Parquet file or a "
    "folder of them, too, which all of them must see.",
)
@click.option(
    "--model",
    metavar="FILE",
    help="Also save the fitted model (.npz), with which 'boostne transform' embeds new nodes and, with --bipartite, "
    "'boostne recommend' recommends some.  [--method boostne]",
)
@method_option
@_bipartite_option
@to_undirected_option
@quiet_option
@debug_option
@click.pass_context
def embed(ctx: click.Context, /, graph: str, output: str, model: str | None, method: str, **_: Any) -> None:
    """Run ``boostne embed``."""
    from boostne.io import write_embedding

    check_model_options(ctx)
    in_parts = _check_output(ctx, graph, output)
    _check_model_file(ctx, in_parts)
    _check_bipartite(ctx, in_parts)
    _check_cluster_options(ctx)
    parameters = given(ctx, MODEL_OPTIONS)
    session = session_of(ctx)
    session.saved = "nothing was written"
    begin = time.perf_counter()
    read_options = worker_read_options(ctx, graph) if in_parts else None
    with session.screen.progress() as progress:
        network = None
        if read_options is None:
            progress(Progress("reading", 0, graph))
            network = load_graph(ctx, graph)
            check_direction(network, method)
        with _cluster(ctx) as engine:
            estimator = make_estimator(method, parameters, engine)
            if "checkpoint" in parameters:
                session.saved = (
                    f"finished levels are saved in {parameters['checkpoint']}; run the same command again to resume"
                )
            if in_parts:
                estimator.fit_to_parts(
                    graph if network is None else network, output, read_options=read_options, progress=progress
                )
            else:
                estimator.fit(network, progress=progress)
        if not in_parts:
            progress(Progress("writing", 0, output))
            write_embedding(estimator.embedding_, output)
        if model is not None:
            progress(Progress("writing", 0.5, model))
            estimator.save(model)
    session.saved = ""
    if not session.screen.quiet:
        lines = _summary(graph, network, estimator, output, time.perf_counter() - begin)
        if hasattr(estimator, "settings_"):
            session.screen.note("setting", f"{_describe_setting(estimator.settings_)}{_residual(estimator)}")
        own = {} if model is None else {"model": model}
        print_pairs(lines | own | {"next": _next_commands(output, _first_node(network, estimator))})


@click.command(
    cls=Command,
    help="""Estimate the time and memory that 'embed' would take.

    Takes the same GRAPH and options as 'embed', builds a small part of the matrix and extrapolates.
    """,
    common=tuple(name for name in _COMMON if name not in ("output", "model")),
    examples=["boostne estimate edges.csv", "boostne estimate blogcatalog --window 5 --json"],
    sections={**MODEL_SECTIONS, GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS},
)
@click.argument("graph")
@method_option
@_bipartite_option
@to_undirected_option
@json_option
@no_notes_option
@debug_option
@click.pass_context
def estimate(ctx: click.Context, /, graph: str, method: str, as_json: bool, **_: Any) -> None:
    """Run ``boostne estimate``."""
    from boostne.memory import available_memory, resident_memory, sufficient_limit

    check_model_options(ctx)
    _check_bipartite(ctx, in_parts=False)
    model = make_estimator(method, given(ctx, MODEL_OPTIONS))
    if not hasattr(model, "estimate"):
        raise click.UsageError(f"estimates are available for {' and '.join(MATRIX_METHODS)}; got --method {method}.")
    with session_of(ctx).screen.progress() as progress:
        progress(Progress("reading", 0, graph))
        network = load_graph(ctx, graph)
        check_direction(network, method)
        held = resident_memory() + _FIT_MODULES
        progress(Progress("estimating", 0, "sample of the matrix"))
        expected = model.estimate(network)
    found = {
        "nodes": network.n_nodes,
        "edges": network.n_edges,
        "form": expected.form,
        "entries": expected.nnz,
        "connectivity_bytes": expected.connectivity_bytes,
        "fit_bytes": expected.peak_bytes,
        "peak_bytes": held + expected.peak_bytes,
        "sufficient_memory": sufficient_limit(held, expected.peak_bytes),
        "available_bytes": available_memory(),
        "connectivity_seconds": expected.connectivity_seconds,
        "levels_seconds": expected.levels_seconds,
    }
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        first = 0 if network.sides is None else int(network.sides.sum())
        print_pairs(_format_estimate(found, first * (network.n_nodes - first) or network.n_nodes**2))


def _check_output(ctx: click.Context, graph: str, output: str) -> bool:
    """Check that the output can be written, before any work; return whether it is a folder of parts."""
    if not (output.endswith(("/", os.sep)) or Path(output).is_dir()):
        check_embedding_output(output, [graph])
        return False
    if ctx.params["scheduler"] is None and ctx.params["workers"] is None:
        raise ParameterError(
            f"{output} is a folder, and only Dask workers write into folders; give --scheduler or --workers, or a file"
        )
    return True


def _check_model_file(ctx: click.Context, in_parts: bool) -> None:
    """Check that a model can be written, before any work."""
    from boostne.models.model_files import check_suffix

    model, method = ctx.params["model"], ctx.params["method"]
    if model is None:
        return
    if method != "boostne":
        raise click.UsageError(f"--model belongs to --method boostne; got --method {method}.")
    if in_parts:
        raise click.UsageError("--model applies to an output file, not to a folder of parts.")
    check_suffix(model)
    check_output(model, [ctx.params["graph"], ctx.params["output"]])


def _check_bipartite(ctx: click.Context, in_parts: bool) -> None:
    """Raise UsageError for options that do not go together with the sides of a bipartite graph."""
    if not ctx.params["bipartite"]:
        return
    if ctx.params["method"] != "boostne":
        raise click.UsageError(f"--bipartite belongs to --method boostne; got --method {ctx.params['method']}.")
    if ctx.params["directed"]:
        raise click.UsageError(
            "--bipartite and --directed exclude each other: edges between two sides have no direction."
        )
    if in_parts:
        raise click.UsageError("--bipartite applies to an output file, not to a folder of parts.")


def _check_cluster_options(ctx: click.Context) -> None:
    """Raise UsageError for options that do not go together on a Dask cluster."""
    engine, scheduler, workers = (ctx.params[name] for name in ("engine", "scheduler", "workers"))
    if scheduler is not None and workers is not None:
        raise click.UsageError("--scheduler and --workers exclude each other: give one of them.")
    if scheduler is None and workers is None:
        if engine == "dask":
            raise click.UsageError("--engine dask needs a cluster: give --scheduler or --workers.")
        return
    if engine not in (None, "dask"):
        raise click.UsageError(f"--scheduler and --workers use Dask; got --engine {engine}.")
    for flag, name in {"--memory": "memory_limit", "--keep-matrix": "keep_matrix"}.items():
        if ctx.params[name] is not None:
            raise click.UsageError(f"{flag} applies to a matrix on this machine, not on a Dask cluster.")


@contextmanager
def _cluster(ctx: click.Context) -> Iterator[Any]:
    """Give the Dask engine, if one is used: a scheduler's address, or a client of a cluster that ends here."""
    scheduler, workers = ctx.params["scheduler"], ctx.params["workers"]
    if scheduler is None and workers is None:
        yield None
        return
    from boostne.factorization.dask.cluster import local_cluster, silence_logging

    if not session_of(ctx).debug:
        silence_logging()
    if workers is None:
        yield scheduler if "://" in scheduler else f"tcp://{scheduler}"
        return
    with local_cluster(workers) as client:
        yield client


def _describe_setting(settings: dict[str, Any]) -> str:
    matrices = {one.__name__: name for name, one in matrix_classes().items()}
    return ", ".join(f"{name.replace('_', ' ')} {matrices.get(value, value)}" for name, value in settings.items())


def _describe_graph(graph: "Graph | None", model: Any) -> str:
    """Return the size and kind of a graph, None if the workers have read it."""
    if graph is None:
        facts = model.graph_facts_
        nodes, edges, kind, weighted = f"{facts.n_nodes:,}", facts.n_edges, "", facts.weighted
    else:
        nodes = f"{graph.n_nodes:,}" if graph.sides is None else f"{len(model.embedding_):,} + {len(model.targets_):,}"
        edges, kind, weighted = graph.n_edges, "directed, " if graph.directed else "", graph.weighted
    return f"{nodes} nodes, {edges:,} edges, {kind}{'weighted' if weighted else 'unweighted'}"


def _first_node(graph: "Graph | None", model: Any) -> str:
    """Return the id of a node, as a command would name it."""
    if graph is None:
        return shlex.quote(str(model.graph_facts_.first_node))
    return shlex.quote(str(graph.nodes[0])) if graph.n_nodes else "NODE"


def _summary(name: str, graph: "Graph | None", model: Any, output: str, seconds: float) -> dict[str, str]:
    from boostne.io.parts import part_paths
    from boostne.memory import format_bytes

    lines = {"graph": f"{name}: {_describe_graph(graph, model)}"}
    if hasattr(model, "embedding_"):
        lines["vectors"] = describe_embedding(model.embedding_)
        if model.embedding_.targets is not None:
            lines["targets"] = f"{describe_embedding(model.embedding_.targets)}{_targets_file(output)}"
    if getattr(model, "dropped_mass_", None) is not None:
        lines["pruned"] = (
            f"at most {model.max_per_row_:,} entries per row, ε = {model.epsilon_:.2g}; dropped walk mass: "
            f"{model.dropped_mass_.mean():.0%} on average, {model.dropped_mass_.max():.0%} at most"
        )
    if getattr(model, "engine_", "local") != "local":
        lines["engine"] = model.engine_
    path = Path(output)
    files = part_paths(path) if path.is_dir() else [path]
    parts = f"{len(files)} part{'s' * (len(files) > 1)}, " if path.is_dir() else ""
    size = format_bytes(sum(file.stat().st_size for file in files))
    lines["written"] = f"{output} ({parts}{size}) after {duration(seconds)}"
    return lines


def _next_commands(output: str, node: str) -> str:
    file = shlex.quote(output)
    return f"boostne similar {file} {node}, boostne explore {file}, boostne evaluate {file} LABELS"


def _residual(model: Any) -> str:
    """Return how much of the matrix the levels leave unexplained, and its size."""
    if not hasattr(model, "residual_norms_"):
        return ""
    first, *_, last = model.residual_norms_
    return f"; relative residual {last / first if first else 0.0:.3f}, {model.nnz_[0]:,} entries"


def _targets_file(output: str) -> str:
    from boostne.io.embeddings import targets_path

    path = Path(output)
    return "" if path.suffix.lower() == ".npz" else f", in {targets_path(path)}"


def _format_estimate(found: dict[str, Any], n_pairs: int) -> dict[str, str]:
    from boostne.memory import format_bytes

    available = found["available_bytes"]
    density = 100 * found["entries"] / n_pairs
    return {
        "nodes": f"{found['nodes']:,}",
        "edges": f"{found['edges']:,}",
        "form of X": found["form"],
        "entries of X": f"{found['entries']:,} ({density:.2g}% of all pairs)",
        "memory of X": format_bytes(found["connectivity_bytes"]),
        "peak memory": f"{format_bytes(found['peak_bytes'])} of the process; --memory {found['sufficient_memory']} "
        "or more does not change the vectors",
        "free memory": "unknown" if available is None else format_bytes(available),
        "time for X": duration(found["connectivity_seconds"]),
        "time for levels": duration(found["levels_seconds"]),
    }
