"""Messages of the library in the words of the command line: options instead of parameters and calls."""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from boostne.errors import BoostneError

_VALUE = r"""(?P<value>True|False|'[^']*'|"[^"]*"|[\w+-]+(?:\.\w+)?|)(?=[,;:.)]*(?:\s|$))"""
_BIPARTITE = re.compile(
    r"as_graph\(edges, sides='columns'\) or read_graph\(path, bipartite=True\)|"
    r"read_graph\(path, bipartite=True\), as_graph\(edges, sides='columns'\) or with_sides\(\)"
)
_MATRIX = re.compile(r"\b([A-Z]\w*)Matrix\b")
_TO_UNDIRECTED = re.compile(r"(call|pass as_graph\(graph\)\.)\s?to_undirected\(\)( on (it|the graph|the result))?")


class Wording:
    """Translates messages for the command that runs.

    Attributes
    ----------
    commands : sequence of Command
        The command that runs, and then all others: an option of these may be meant for the next command.
    prefix : str
        Prefix of the names of the options for the file that is read; its parameters have none.
    """

    def __init__(self) -> None:
        self.commands: Sequence[click.Command] = ()
        self.prefix = ""

    @contextmanager
    def of_file(self, prefix: str) -> Iterator[None]:
        """Translate notes and errors by the options with this prefix."""
        self.prefix = prefix
        try:
            yield
        except BoostneError as error:
            error.args = (self.translate(str(error)),)
            raise
        finally:
            self.prefix = ""

    def translate(self, message: str) -> str:
        """Replace ``header=False`` by ``--no-header``, ``memory_limit`` by ``--memory``, and so on."""
        options = self._options()
        if not options:
            return message
        names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))

        def replace(match: re.Match[str]) -> str:
            name = match["name"] or match["bare"]
            return _as_typed(options[name], match["value"] or "") if name in options else match[0]

        pattern = rf"(?<![\w.'\"/=-])(?:(?P<name>{names})={_VALUE}|(?P<bare>\w+_\w+)(?![\w.(='\"]))"
        message = _BIPARTITE.sub("'boostne embed --bipartite'", _TO_UNDIRECTED.sub("use --to-undirected", message))
        return re.sub(pattern, replace, _MATRIX.sub(r"the matrix of \1", message))

    def _options(self) -> dict[str, click.Option]:
        found: dict[str, click.Option] = {}
        options = [one for command in self.commands for one in command.params if isinstance(one, click.Option)]
        for option in options:
            name = option.name or ""
            if self.prefix and name.startswith(self.prefix):
                found.setdefault(name.removeprefix(self.prefix), option)
        for option in options:
            found.setdefault(option.name or "", option)
        return found


def _as_typed(option: click.Option, value: str) -> str:
    """Return an option with a value that is written in Python, as it is typed."""
    flag = max(option.opts, key=len)
    if value == "False":
        return option.secondary_opts[0] if option.secondary_opts else flag.replace("--", "--no-", 1)
    if value in ("", "True"):
        return flag
    text = value[1:-1] if value.startswith(("'", '"')) else value
    return f"{flag} {shlex.quote(text)}"
