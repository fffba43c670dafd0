"""Options that say how files are read."""

from boostne.cli.options import LibraryOption, column, options_of

GRAPH_FILE_SECTION = "Reading the graph file"
LABEL_FILE_SECTION = "Reading the label file"
EMBEDDING_FILE_SECTION = "Reading the embedding files"

_graph = options_of("boostne.io:read_graph")
_labels = options_of("boostne.io:read_labels")
_embedding = options_of("boostne.io:read_embedding")

GRAPH_FILE_OPTIONS = (
    _graph("--format", "NAME",
           "edgelist or csv: one edge per line, 'u v' or 'u v weight', or a table with named columns; adjlist: 'u v1 "
           "v2 …'; mtx, mat, npz (SciPy): adjacency matrix whose rows are nodes 0, 1, …; parquet: table; graphml; gml; "
           "json: node-link, or a list of edges. By default chosen by the suffix; edgelist if the suffix is unknown."),
    _graph("--directed/--undirected", None,
           "By default, matrices are undirected if symmetric, GraphML, GML and JSON files declare it, and edge lists "
           "and tables are undirected. --undirected is an error for a file with directed edges."),
    _graph("--delimiter", "TEXT",
           "Field separator; a space means any run of spaces and tabs. By default detected: tab, semicolon, comma or "
           "spaces."),
    _graph("--comments", "TEXT",
           "Lines that start with one of these characters are comments; '' for no comments. By default '#%'."),
    _graph("--header/--no-header", None, "Whether the first line names the columns. By default detected."),
    _graph("--source", column,
           "Column of the source nodes: a name, or a position counted from 0. By default source, src, from or u, or "
           "else the first."),
    _graph("--target", column, "Column of the target nodes. By default target, dst, to or v, or else the second."),
    _graph("--weight", column, "Column of the edge weights. By default weight, or else the third of three."),
    LibraryOption(["--no-weight"], is_flag=True, help="Ignore the weights in the file."),
    _graph("--variable", "NAME",
           "Variable of a MATLAB file. By default network, A, adj, adjacency, graph or W, or else the only square "
           "sparse matrix."),
    _graph("--duplicates", ["once", "sum"],
           "For an edge listed several times (in an undirected graph, in either direction): once keeps the largest "
           "weight, sum adds the weights."),
    _graph("--self-loops", ["drop", "keep"], "drop removes self-loops, prints their number and keeps their nodes."),
)  # fmt: skip

# The parameters of read_labels, with a prefix, because some commands read a graph file, too.
LABEL_PREFIX = "label_"
LABEL_FILE_OPTIONS = (
    _labels("--label-format", "NAME",
            "lines: 'node label' (a node may be repeated) or 'node label1 label2 …'; communities: line j lists the "
            "nodes with label j, counted from 0 without empty lines and comments; mat: indicator matrix or label "
            "vector whose rows are nodes 0, 1, … By default chosen by the suffix: .cmty, .mat, or else lines."),
    _labels("--label-delimiter", "TEXT", "As --delimiter of 'boostne embed'."),
    _labels("--label-comments", "TEXT", "As --comments of 'boostne embed'."),
    _labels("--label-header/--no-label-header", None,
            "For lines: whether the first line names the columns. By default detected."),
    _labels("--node", column,
            "Column of the nodes: a name, or a position counted from 0. By default node, id or name, or else the "
            "first.", name="label_node"),
    _labels("--label", column,
            "Column of the labels. By default label, class, category, community or group, or else the second of two.",
            name="label_label"),
    _labels("--multilabel/--single-label", None,
            "Whether further columns are further labels, or the rest of the line is one label. By default an error if "
            "both are possible.", name="label_multilabel"),
    _labels("--label-variable", "NAME", "Variable of a MATLAB file. By default group."),
)  # fmt: skip

EMBEDDING_FILE_OPTIONS = (
    _embedding("--ids", "FILE",
               "For .npy only: text file with one node id per line, or a folder with such a file for each embedding, "
               "NAME.txt. By default ids are read from NAME.nodes.json."),
    _embedding("--id-type", ["auto", "int", "str"],
               "Type of the node ids in text files; auto means int if all ids are integers, else str."),
)  # fmt: skip
