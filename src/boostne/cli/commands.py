"""The commands. Each parses, calls the library and prints; nothing heavy is imported before one is called."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import (
    DEFAULT_METHOD,
    Command,
    debug_option,
    json_option,
    method_class,
    method_option,
    quiet_option,
    to_undirected_option,
)
from boostne.cli.inputs import GRAPH_SECTION, load_graph
from boostne.cli.options import Source, values
from boostne.cli.reproduce import reproduce
from boostne.cli.scoring import evaluate, report
from boostne.cli.screen import duration, print_pairs, print_table
from boostne.cli.session import session_of
from boostne.errors import ParameterError
from boostne.progress import Progress

if TYPE_CHECKING:
    from boostne.cli.demo import Result
    from boostne.embedding import Embedding
    from boostne.graph import Graph

METHOD_SECTION = "Parameters of the method"
GENERATOR_SECTION = "What the graph looks like"


def _graph_sources(method: str) -> list[Source]:
    from boostne.io import read_graph

    # A client is an object of Python's; here its scheduler has an address.
    return [Source(method_class(method), METHOD_SECTION, skip=("client",)), Source(read_graph, GRAPH_SECTION)]


def _generator_sources(_: str) -> list[Source]:
    from boostne.generators import planted_partition

    return [Source(planted_partition, GENERATOR_SECTION)]


@click.command(cls=Command, examples=["boostne demo", "boostne demo -o digits-demo"])
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="demo",
    show_default=True,
    help="Where the files go; made if missing.",
)
@quiet_option
@debug_option
@click.pass_context
def demo(ctx: click.Context, /, folder: str) -> None:
    """Embed, score and draw the built-in digits.

    1,797 images of handwritten digits, each joined to the ten most like it: from these links alone boostne
    learns vectors that tell the digits apart. Writes digits.npz (the embedding) and digits.png (a map of it).
    Needs no network and some seconds.
    """
    from boostne.cli import demo as demonstration

    session = session_of(ctx)
    files = demonstration.prepare(Path(folder))
    with session.screen.progress() as report:
        result = demonstration.compute(report)
        result.embedding.save(files.embedding)
    if not session.screen.quiet:
        click.echo("Micro-F1, by the share of the digits whose label is known")
        _print_scores(result)
        click.echo(f"wrote {files.embedding}: {_shape(result.embedding)}")
    if demonstration.can_draw():
        with session.screen.progress() as report:
            demonstration.draw(result, files.picture, report)
        picture = f"wrote {files.picture}: a map of the digits, and what each level leaves"
    else:
        picture = 'drew no picture, for want of matplotlib: pip install "boostne[viz]"'
    if not session.screen.quiet:
        click.echo(picture)
        click.echo(f"\nnext: boostne evaluate {files.embedding} digits")
        click.echo("      boostne embed YOUR_EDGES.csv -o vectors.npz")


@click.command(
    cls=Command,
    sources=_graph_sources,
    examples=[
        "boostne embed edges.csv -o vectors.npz",
        "boostne embed digits -o digits.parquet --dimensions 64 --levels 4",
        "boostne embed links.tsv.gz -o links.emb --source from --target to --no-weight",
        "boostne embed cora -o cora.npz --approximation spectral --seed 1",
        "boostne embed large.txt -o large.npz --memory 4GB",
        "boostne embed large.txt -o large.npz --scheduler tcp://10.0.0.1:8786",
        "boostne embed huge.txt -o /shared/huge/ --scheduler tcp://10.0.0.1:8786",
    ],
)
@click.argument("graph")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    help="File to write: .npz, .npy, .parquet, .csv, .emb or .txt (word2vec); with --scheduler or --workers also "
    "a folder, FOLDER/, for Parquet parts that the workers write.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at this address, as tcp://HOST:PORT."
)
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Run on N Dask workers, started on this machine."
)
@method_option
@to_undirected_option
@quiet_option
@debug_option
@click.pass_context
def embed(
    ctx: click.Context,
    /,
    graph: str,
    output: str,
    scheduler: str | None,
    workers: int | None,
    method: str,
    **_: Any,
) -> None:
    """Embed the nodes of a graph.

    GRAPH is a file, or the name of a data set (see 'boostne datasets'); a file of that name in the current
    folder wins. The suffix of the output picks its format. The same seed gives the same vectors, bit for bit,
    on any number of threads.
    """
    from boostne.io import write_embedding
    from boostne.io.atomic import check_writable
    from boostne.io.embeddings import known_suffix

    session = session_of(ctx)
    in_parts = output.endswith(("/", os.sep)) or Path(output).is_dir()
    if not in_parts:
        known_suffix(Path(output))
        check_writable(output)
    elif scheduler is None and workers is None:
        raise ParameterError(
            f"{output} is a folder, for parts that Dask workers write; give --scheduler or --workers, or a file"
        )
    session.interrupted = "interrupted; nothing was written"
    begin = time.perf_counter()
    with session.screen.progress() as report:
        report(Progress("reading", 0, graph))
        network = load_graph(ctx, graph)
        with _cluster(method, scheduler, workers) as place:
            model = method_class(method)(**{**values(ctx, METHOD_SECTION), **place})
            if kept := getattr(model, "checkpoint", None):
                session.interrupted = (
                    f"interrupted; finished levels are in {kept}: the same command goes on from there"
                )
            if in_parts:
                model.fit_to_parts(network, output, progress=report)
            else:
                model.fit(network, progress=report)
        if not in_parts:
            report(Progress("writing", 0, output))
            write_embedding(model.embedding_, output)
    session.interrupted = "interrupted"
    if not session.screen.quiet:
        print_pairs(_summary(graph, network, model, output, time.perf_counter() - begin))


@contextmanager
def _cluster(method: str, scheduler: str | None, workers: int | None) -> Iterator[dict[str, Any]]:
    """Give the parameters that send a method to a cluster: to one that runs, or to one that lives as long as this."""
    if scheduler is None and workers is None:
        yield {}
        return
    if scheduler and workers:
        raise click.UsageError("--scheduler and --workers exclude each other: give one of them.")
    if "dask" not in method_class(method).capabilities.engines:
        raise ParameterError(
            f"the method {method!r} does not run on Dask; leave --scheduler and --workers out"
        )
    if scheduler:
        yield {"engine": "dask", "client": scheduler}
        return
    from boostne.factorization.dask.cluster import local_cluster

    with local_cluster(workers or 1) as address:
        yield {"engine": "dask", "client": address}


@click.command(
    cls=Command,
    sources=_graph_sources,
    examples=["boostne estimate edges.csv", "boostne estimate blogcatalog --window 5 --json"],
)
@click.argument("graph")
@method_option
@to_undirected_option
@json_option
@debug_option
@click.pass_context
def estimate(ctx: click.Context, /, graph: str, method: str, as_json: bool, **_: Any) -> None:
    """Tell the time and memory that 'embed' would take.

    Takes the same GRAPH and options as 'embed', does a small part of the work, and reckons the rest from it.
    """
    from boostne.memory import available_memory

    with session_of(ctx).screen.progress() as report:
        report(Progress("reading", 0, graph))
        network = load_graph(ctx, graph)
        model = method_class(method)(**values(ctx, METHOD_SECTION))
        if not hasattr(model, "estimate"):
            raise ParameterError(f"the method {method!r} has no estimate")
        report(Progress("estimating", 0, "a few blocks of X"))
        expected = model.estimate(network)
    found = {
        "nodes": network.n_nodes,
        "edges": network.n_edges,
        "form": expected.form,
        "entries": expected.nnz,
        "connectivity_bytes": expected.connectivity_bytes,
        "peak_bytes": expected.peak_bytes,
        "available_bytes": available_memory(),
        "connectivity_seconds": expected.connectivity_seconds,
        "levels_seconds": expected.levels_seconds,
    }
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        print_pairs(_in_words(found))


@click.command(cls=Command, examples=["boostne methods", f"boostne embed --method {DEFAULT_METHOD} --help"])
@json_option
@debug_option
def methods(as_json: bool) -> None:
    """List the methods and what each honors.

    What a method does not honor it refuses; nothing is dropped in silence. Isolated nodes get zero vectors.
    """
    from dataclasses import asdict

    from boostne.models import METHODS

    known = {name: asdict(method.capabilities) for name, method in METHODS.items()}
    if as_json:
        rows = [{"method": name, **row, "isolated_nodes": "zero vectors"} for name, row in known.items()]
        click.echo(json.dumps(rows, indent=2))
        return
    words = {True: "counted", False: "refused"}
    print_table(
        ["method", "paper", "weights", "direction", "isolated", "engines", "cost"],
        [
            [
                name,
                row["paper"],
                words[row["weights"]],
                words[row["direction"]],
                "zeros",
                ", ".join(row["engines"]),
                row["cost"],
            ]
            for name, row in known.items()
        ],
    )


@click.command(cls=Command, examples=["boostne datasets", "boostne embed karate -o karate.csv"])
@json_option
@debug_option
def datasets(as_json: bool) -> None:
    """List the data sets that can stand for GRAPH and LABELS.

    Those that are not here yet are downloaded when first used; their checksum is verified.
    """
    from boostne.datasets import list_datasets

    rows = list_datasets()
    if as_json:
        click.echo(json.dumps([row._asdict() for row in rows], indent=2))
        return
    print_table(
        ["name", "nodes", "edges", "classes", "here", "source"],
        [
            [
                row.name,
                f"{row.nodes:,}",
                f"{row.edges:,}",
                str(row.classes),
                "yes" if row.present else "no",
                # The commit is for the JSON; people know a repository by its name.
                row.source if " " in row.source else "/".join(row.source.split("/")[:2]),
            ]
            for row in rows
        ],
        right=(1, 2, 3),
    )


@click.command(
    cls=Command,
    sources=_generator_sources,
    examples=["boostne generate edges.csv --labels labels.csv --nodes 100000 --communities 20"],
)
@click.argument("edges")
@click.option("--labels", metavar="FILE", help="Also write the community of each node.")
@click.option("--nodes", type=int, metavar="N", default=10_000, show_default=True, help="Nodes of the graph.")
@quiet_option
@debug_option
@click.pass_context
def generate(ctx: click.Context, /, edges: str, labels: str | None, nodes: int, **_: Any) -> None:
    """Write a random graph with communities and hubs.

    EDGES is a CSV file to write, as is the one of the labels. A graph of a million nodes takes seconds.
    """
    from boostne.generators import planted_partition
    from boostne.io.atomic import check_writable
    from boostne.io.writing import write_edges, write_labels

    for path in filter(None, (edges, labels)):
        check_writable(path)
    data = planted_partition(nodes, **values(ctx, GENERATOR_SECTION))
    write_edges(data.graph, edges)
    if labels:
        write_labels(data.labels, labels)
    if not session_of(ctx).screen.quiet:
        print_pairs({"graph": f"{edges}: {data.graph.n_nodes:,} nodes, {data.graph.n_edges:,} edges"})


COMMANDS = (demo, embed, evaluate, estimate, methods, datasets, generate, reproduce, report)


def _print_scores(result: "Result") -> None:
    print_table(
        ["vectors", *(f"{ratio:g} %" for ratio in result.train)],
        [[name, *(f"{score:.3f}" for score in scores)] for name, scores in result.scores.items()],
        right=tuple(range(1, 1 + len(result.train))),
    )


def _shape(embedding: "Embedding") -> str:
    levels = f", {embedding.n_levels} levels" if embedding.n_levels > 1 else ""
    return f"{len(embedding):,} × {embedding.dimensions}{levels}, {embedding.vectors.dtype}"


def _summary(name: str, graph: "Graph", model: Any, output: str, seconds: float) -> dict[str, str]:
    from boostne.io.parts import part_paths
    from boostne.memory import format_bytes

    weights = "weighted" if graph.weighted else "unweighted"
    lines = {"graph": f"{name}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {weights}"}
    if hasattr(model, "embedding_"):
        lines["vectors"] = _shape(model.embedding_)
    if hasattr(model, "residual_norms_"):
        first, *_, last = model.residual_norms_
        share = last / first if first else 0.0
        lines["residual"] = f"{share:.3f} of ‖X‖ is left; X has {model.nnz_[0]:,} entries"
        if model.dropped_mass_ is not None:
            lines["pruned"] = (
                f"to at most {model.max_per_row_:,} entries a row, ε = {model.epsilon_:.2g}; of the walks' mass "
                f"{model.dropped_mass_.mean():.0%} was dropped, {model.dropped_mass_.max():.0%} at most"
            )
    if getattr(model, "engine_", "local") != "local":
        lines["engine"] = model.engine_
    path = Path(output)
    files = part_paths(path) if path.is_dir() else [path]
    parts = f"{len(files)} part{'s' * (len(files) > 1)}, " if path.is_dir() else ""
    size = format_bytes(sum(file.stat().st_size for file in files))
    return lines | {"written": f"{output} ({parts}{size}) after {duration(seconds)}"}


def _in_words(found: dict[str, Any]) -> dict[str, str]:
    from boostne.memory import format_bytes

    available = found["available_bytes"]
    share = 100 * found["entries"] / found["nodes"] ** 2
    return {
        "nodes": f"{found['nodes']:,}",
        "edges": f"{found['edges']:,}",
        "form of X": found["form"],
        "entries of X": f"{found['entries']:,} ({share:.2g} % of all pairs)",
        "memory of X": format_bytes(found["connectivity_bytes"]),
        "peak memory": format_bytes(found["peak_bytes"]),
        "memory free": "unknown" if available is None else format_bytes(available),
        "time of X": duration(found["connectivity_seconds"]),
        "time of levels": duration(found["levels_seconds"]),
    }
