"""Help, typing errors, and the commands for link prediction and clustering."""

import json
import sys

import pytest

from boostne.cli.program import program, run

SMALL = ("--dimensions", "8", "--levels", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manners")
    rows = "".join(f"{i},n{i},{'a' if i < 17 else 'b'}\n" for i in range(34))
    (folder / "labels.csv").write_text(f"id,name,label\n{rows}")
    model = ["--model", str(folder / "model.npz")]
    assert run(["embed", "karate", "-o", str(folder / "k.npz"), *model, *SMALL, "-q"]) == 0
    return folder


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    """Run the program in a folder with an embedding and labels; returns stdout and stderr."""
    monkeypatch.chdir(folder)

    def run_here(*arguments, code=0):
        found = run(list(arguments))
        out, error = capsys.readouterr()
        assert found == code, error
        return out, error

    return run_here


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embed", "karate", "-o", "x.npz", "--dim", "8"], "there is no option --dim. Did you mean --dimensions?"),
        (["embed", "karate", "-o", "x.npz", "--dimesions", "8"], "Did you mean --dimensions or"),
        (["similar", "k.npz", "0", "--window", "8"], "there is no option --window; it belongs to 'boostne embed'"),
        (["links", "karate", "--checkpoint", "x"], "there is no option --checkpoint; it belongs to 'boostne embed'"),
        (
            ["embed", "karate", "-o", "x.npz", "--method", "hope", "--levels", "2"],
            "--levels belongs to --method boostne",
        ),
        (
            ["evaluate", "labels.csv", "k.npz"],
            "the labels come last: 'k.npz' is a file of vectors, 'labels.csv' is not.",
        ),
        (["clusters", "labels.csv", "k.npz"], "the labels come last"),
        (["evaluate", "k.npz", "labels.csv", "--format", "lines"], "Did you mean --label-format?"),
        (["evaluate", "k.npz", "labels.csv", "--splits", "2"], "Did you mean --repeats?"),
        (["embed", "karate", "-o", "x.npz", "--treads", "2"], "Did you mean --threads or"),
    ],
)
def test_a_mistyped_command_line_is_explained(inside, arguments, message):
    _, error = inside(*arguments, code=2)
    assert message in error.splitlines()[0]


@pytest.mark.parametrize("name", program.commands)
def test_every_command_has_short_options_for_help_and_quiet(inside, name):
    out, _ = inside(name, "-h")
    assert "-h, --help" in out
    assert "-q, --quiet" in out
    assert ":func:" not in out
    assert ":class:" not in out


def test_help_of_embed_begins_with_the_common_options(inside):
    out, _ = inside("embed", "-h")
    common, _ = out.split("Common options:")[1].split("Further options:")
    flags = ["--output", "--method", "--dimensions", "--levels", "--window"]
    flags += ["--directed", "--model", "--seed", "--threads", "--memory"]
    assert [
        line.split(" ")[0].strip(",") for line in common.replace("-o, ", "").split("\n  ") if line[:2] == "--"
    ] == flags


def test_embed_ends_with_what_to_do_next(inside):
    out, error = inside("embed", "karate", "-o", "my x.npz", *SMALL)
    assert out.splitlines()[-1].split(maxsplit=1) == [
        "next",
        "boostne similar 'my x.npz' 0, boostne explore 'my x.npz', boostne evaluate 'my x.npz' LABELS",
    ]
    assert "setting: connectivity deepwalk, " in error
    assert "relative residual 0." in error


def test_links_and_clusters(inside):
    found = json.loads(inside("links", "karate", *SMALL, "--repeats", "1", "--operator", "dot,cosine", "--json")[0])
    assert found["repeats"] == 1
    out, error = inside("clusters", "k.npz", "labels.csv", "--repeats", "2")
    assert "34 nodes with one label" in out
    first, second = error.splitlines()
    assert first.startswith("boostne: read: k.npz: 34 nodes with 8 numbers each in 2 levels")
    assert second.startswith(
        "boostne: read: labels.csv: separated by commas, header in line 1; node 'id', label 'label'"
    )
    assert inside("clusters", "k.npz", "labels.csv", "--repeats", "2", "-q") == (out, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["embed", "pairs.csv"], "--header reads it as column names, --no-header as an edge"),
        (["embed", "loops.csv"], "dropped 1 self-loop; --self-loops keep keeps them"),
        (["embed", "table.csv"], "pass --weight since, or --no-weight to read the edges without weights"),
        (["embed", "karate", "--memory", "2MB"], "The smallest sufficient --memory is '"),
        (["embed", "loops.csv", "--directed", "--approximation", "spectral"], "or use --to-undirected"),
        (["embed", "loops.csv", "--directed", "--method", "netmf"], "use --to-undirected to ignore the direction"),
        (["evaluate", "k.npz", "topics.txt"], "--multilabel reads 2 labels, --single-label reads one"),
        (
            ["evaluate", "k.npz", "teams.txt"],
            "is read as a node and its label, which no other node has; --label-header",
        ),
        (["evaluate", "karate", "topics.txt"], "'boostne embed karate -o karate.npz' writes one"),
        (["plot", "k.npz", "--labels", "teams.csv"], "pass --label team, or --multilabel if all columns are labels"),
        (
            ["embed", "loops.csv", "--directed", "--connectivity", "line"],
            "the matrix of LINE is defined for undirected",
        ),
        (["recommend", "model.npz", "0"], "or a bipartite one, as with 'boostne embed --bipartite'"),
        (["similar", "loops.csv", "1"], "as in a list of edges or labels: give a file of vectors"),
    ],
)
def test_messages_name_options_instead_of_parameters(folder, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(folder)
    (folder / "pairs.csv").write_text("alpha,beta\na,b\nb,c\n")
    (folder / "loops.csv").write_text("1,1\n2,3\n")
    (folder / "table.csv").write_text("source,target,since,kind\n1,2,3,4\n")
    (folder / "topics.txt").write_text("1 machine learning\n")
    (folder / "teams.txt").write_text("ann chef\nbob red\neve red\n")
    (folder / "teams.csv").write_text("id,town,team\n1,x,red\n")
    output = {"embed": ["-o", "x.npz", "--dimensions", "2"], "plot": ["-o", "x.png"]}.get(arguments[0], [])
    levels = ["--levels", "1"] if "embed" in arguments and "--method" not in arguments else []
    run([*arguments, *output, *levels])
    assert words in capsys.readouterr().err


def test_graphs_are_read_from_standard_input(inside, folder, monkeypatch):
    (folder / "piped").write_text("1 2\n2 3\n3 1\n")
    with (folder / "piped").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        out, error = inside("embed", "-", "-o", "y.npz", "--dimensions", "2", "--levels", "1")
    assert "3 nodes, 3 edges" in out
    assert error.startswith("boostne: read: -: separated by spaces")


def test_estimate_counts_the_whole_process(inside):
    found = json.loads(inside("estimate", "karate", "--json", *SMALL)[0])
    assert found["peak_bytes"] > found["fit_bytes"] + 50_000_000
