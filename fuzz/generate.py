"""Random ids, edges, options and text layouts."""

from random import Random
from typing import Any, NamedTuple

BIG = 2**53 + 1
WEIGHTS = (1, 2, 3, 0.5, 0.125, 1.75, 0, 1e-3, 1e6, 12345.0625)
DYADIC = (1, 2, 3, 0.5, 0.125, 1.75, 0, 2**-20, 12345.0625)  # their sums are exact

_WORDS = (
    "ann",
    "bob",
    "eve",
    "New York",
    "Zürich",
    "Łódź",
    "nan",
    "NA",
    "null",
    "None",
    "true",
    "inf",
    "日本",
    "a b",
    "x",
)
_NUMBERS_AS_TEXT = ("007", "7", "00", "-0", "+1", "1.0", "1e3", str(2**63), "0x1f", "1_0")


def make_ids(rng: Random, count: int, kinds: str = "isnw") -> list[Any]:
    """Return distinct ids of one kind: integers (i), strings (s), text that looks like numbers (n), long words (w)."""
    kind = rng.choice(kinds)
    if kind == "i":
        start = rng.choice((0, 0, 1, -5, 1000, BIG, 2**31 - 3, 2**63 - 1 - 3 * count, -(2**63)))
        return rng.sample(range(start, start + 3 * count), count)
    if kind == "n":
        count = min(count, len(_NUMBERS_AS_TEXT))
        chosen = rng.sample(_NUMBERS_AS_TEXT, count)
        return chosen if any(text in chosen for text in ("007", "00", "-0", "+1")) else ["007", *chosen]
    if kind == "w":
        return [f"{rng.choice(_WORDS)}{rng.choice('-_.:')}{i}" for i in range(count)]
    return rng.sample(_WORDS, min(count, len(_WORDS)))


def make_edges(rng: Random, ids: list[Any], *, exact_sums: bool) -> list[tuple[Any, Any, float]]:
    """Return edges among ids, with duplicates and self-loops; every sum of weights is exact if required."""
    count = rng.choice((1, 2, 3, 5, 8, 20, 40))
    values = DYADIC if exact_sums else WEIGHTS
    return [(rng.choice(ids), rng.choice(ids), float(rng.choice(values))) for _ in range(count)]


def graph_options(rng: Random) -> dict[str, Any]:
    """Return random options that apply to all graph formats; mostly the defaults."""
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options["directed"] = rng.choice((True, True, False))
    if rng.random() < 0.4:
        options["duplicates"] = rng.choice(("once", "sum"))
    if rng.random() < 0.4:
        options["self_loops"] = rng.choice(("drop", "keep"))
    return options


class Layout(NamedTuple):
    """How rows are written as text."""

    delimiter: str
    newline: str
    final_newline: bool
    byte_order_mark: bool
    comments: bool
    padding: bool
    quoted: bool

    def write(self, rng: Random, rows: list[list[str]]) -> bytes:
        """Return rows as the content of a text file."""
        lines = []
        for row in rows:
            if self.comments and rng.random() < 0.3:
                lines.append(rng.choice(("# a comment", "% 1 2 3", "", "  ", "\t# indented", "#")))
            lines.append(self._line(rng, row))
        text = self.newline.join(lines) + (self.newline if self.final_newline else "")
        return ("\ufeff" if self.byte_order_mark else "").encode() + text.encode()

    def _line(self, rng: Random, row: list[str]) -> str:
        if self.delimiter == " ":
            blanks = (" ", "  ", "\t", " \t ") if self.padding else (" ",)
            line = row[0] + "".join(rng.choice(blanks) + field for field in row[1:])
            return f"{rng.choice(('', ' '))}{line}{rng.choice(('', ' ', chr(9)))}" if self.padding else line
        return self.delimiter.join(self._field(rng, field) for field in row)

    def _field(self, rng: Random, field: str) -> str:
        if self.quoted or self.delimiter in field or '"' in field:
            return '"' + field.replace('"', '""') + '"'
        return f"{rng.choice(('', ' '))}{field}{rng.choice(('', ' '))}" if self.padding else field


def make_layout(rng: Random, delimiters: str = " ,;\t") -> Layout:
    """Return a random layout."""
    return Layout(
        delimiter=rng.choice(delimiters),
        newline=rng.choice(("\n", "\n", "\n", "\r\n", "\r")),
        final_newline=rng.random() < 0.8,
        byte_order_mark=rng.random() < 0.1,
        comments=rng.random() < 0.2,
        padding=rng.random() < 0.2,
        quoted=rng.random() < 0.15,
    )


def without_blanks(ids: list[Any]) -> list[Any]:
    """Return ids that can be written between spaces."""
    return [node.replace(" ", "_") if isinstance(node, str) else node for node in ids]


def number_text(rng: Random, value: float) -> str:
    """Return a number as a tool might write it."""
    plain = repr(value).removesuffix(".0")
    return rng.choice((plain, plain, repr(value), f"{value:.17e}", f"+{plain}" if value else plain))
