"""Options made from the signature and the docstring of what a command calls, so that nothing is written twice.

``None`` cannot be typed on a command line. An option whose parameter has that default may be left out.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import click

# Names on the command line that differ from the parameter's.
FLAGS = {"random_state": "--seed", "C": "-C", "memory_limit": "--memory"}
OFF_FLAGS = {"directed": "--undirected"}
LONGEST_CHOICE = 56  # letters of a list of choices that still fit into a line of help
# Where the docstring says nothing, or speaks of Python alone.


class GeneratedOption(click.Option):
    """An option that stands for a parameter of a function.

    Attributes
    ----------
    parameter : str
        Name of the parameter.
    section : str
        Heading in the help; also what :func:`values` selects by.
    constant : object
        For a flag that stands for one value, such as ``--no-weight`` for ``weight=False``: that value.
    """

    def __init__(self, *args: Any, parameter: str, section: str, constant: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parameter = parameter
        self.section = section
        self.constant = constant


class Doc(NamedTuple):
    """What a docstring says of a parameter: its kind, such as ``int, default=8``, and the text."""

    kind: str
    text: str


def column(value: str) -> str | int:
    """Return a column's name, or its place counted from 0."""
    return int(value) if value.isdecimal() else value


def numbers(value: str) -> tuple[float, ...]:
    """Return numbers that are separated by commas.

    >>> numbers("10,50,90")
    (10.0, 50.0, 90.0)
    """
    try:
        return tuple(float(number) for number in value.split(",") if number.strip())
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers separated by commas") from None


@dataclass(frozen=True)
class Source:
    """A function whose parameters become options.

    Attributes
    ----------
    call : callable
        The function or class.
    section : str
        Heading of its options in the help.
    skip : collection of str
        Parameters that are not options: the command gives them itself.
    """

    call: Callable[..., Any]
    section: str
    skip: Iterable[str] = ()

    def options(self) -> list[GeneratedOption]:
        """Return an option for each keyword parameter; where the type asks for it, two."""
        target: Any = self.call.__init__ if inspect.isclass(self.call) else self.call
        docs = parameter_docs(inspect.getdoc(self.call) or "")
        hints = get_type_hints(target)
        parameters = [
            parameter
            for name, parameter in inspect.signature(self.call).parameters.items()
            if name not in set(self.skip) and parameter.default is not parameter.empty
        ]
        made = [
            option
            for parameter in parameters
            for option in _options(parameter, hints[parameter.name], docs[parameter.name], self.section)
        ]
        for option in made:
            option.help = on_command_line(option.help or "", made)
        return made


def values(ctx: click.Context, section: str) -> dict[str, Any]:
    """Return what the options of a section say, as keyword arguments for the function behind them."""
    found: dict[str, Any] = {}
    for option in _of_section(ctx, section):
        value = ctx.params[option.name or ""]
        if option.constant is None:
            found[option.parameter] = value
        elif value:
            found[option.parameter] = option.constant
    return found


def first_given(ctx: click.Context, section: str) -> str | None:
    """Return the first option of a section that was typed, or None."""
    silent = {click.core.ParameterSource.DEFAULT, click.core.ParameterSource.DEFAULT_MAP}
    for option in _of_section(ctx, section):
        if ctx.get_parameter_source(option.name or "") not in silent:
            return option.opts[0]
    return None


def on_command_line(message: str, options: Iterable[click.Parameter]) -> str:
    """Rewrite ``name='value'``, as the library's messages have it, to ``--name value``.

    Examples
    --------
    >>> made = [GeneratedOption(["--self-loops"], parameter="self_loops", section="")]
    >>> on_command_line("dropped 2 self-loops; self_loops='keep' keeps them", made)
    'dropped 2 self-loops; --self-loops keep keeps them'
    """
    generated = [
        option for option in options if isinstance(option, GeneratedOption) and option.constant is None
    ]
    for option in generated:
        name, flag = re.escape(option.parameter), option.opts[0]
        off = option.secondary_opts[0] if option.secondary_opts else f"--no-{option.parameter}"
        message = re.sub(rf"\b{name}=True\b", flag, message)
        message = re.sub(rf"\b{name}=False\b", off, message)
        message = re.sub(rf"\b{name}=(?:'([^']*)'|\"([^\"]*)\"|(\d[\d.e+-]*\b))", rf"{flag} \1\2\3", message)
        message = re.sub(rf"\b{name}=(?=\W|$)", flag, message)
        if option.parameter in FLAGS:
            message = re.sub(rf"(?<![\w-]){name}(?!\w)", flag, message)
    if any(option.name == "to_undirected" for option in options):
        message = message.replace("to_undirected()", "to_undirected() (option --to-undirected)")
    return message


def parameter_docs(docstring: str) -> dict[str, Doc]:
    """Read the section "Parameters" of a docstring in NumPy's style.

    Examples
    --------
    >>> text = inspect.cleandoc('''Do it.
    ...
    ...     Parameters
    ...     ----------
    ...     a : int, default=1
    ...         The first,
    ...         in two lines.
    ...     b, c
    ...         The others.
    ...     ''')
    >>> parameter_docs(text)["a"]
    Doc(kind='int, default=1', text='The first, in two lines.')
    >>> parameter_docs(text)["c"].text
    'See --b.'
    """
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    docs: dict[str, Doc] = {}
    for entry in re.split(r"\n(?=\S)", match[1].strip("\n") if match else ""):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        first, *others = [name.strip() for name in names.split(",")]
        docs[first] = Doc(kind, " ".join(body.split()))
        docs |= {name: Doc(kind, f"See {_flag(first)}.") for name in others}
    return docs


def _options(parameter: inspect.Parameter, hint: Any, doc: Doc, section: str) -> list[GeneratedOption]:
    name, default, members = parameter.name, parameter.default, _members(hint)
    flag = _flag(name)
    settings: dict[str, Any] = {"parameter": name, "section": section, "help": _plain(doc.text)}
    if bool in members:
        off = OFF_FLAGS.get(name, f"--no-{flag.lstrip('-')}")
        settings["help"] = re.sub(r"\bFalse\b", off, settings["help"])
        return [GeneratedOption([f"{flag}/{off}", name], default=default, **settings)]
    made = [
        GeneratedOption(
            [flag, name], default=_typed(default), show_default=True, **_type(members, doc), **settings
        )
    ]
    if False in members:
        settings["help"] = f"Read no {name}s, whatever the file has."
        made.append(GeneratedOption([f"--no-{name}", f"no_{name}"], is_flag=True, constant=False, **settings))
    return made


def _members(hint: Any) -> list[Any]:
    """Return the types and the literal values that an annotation allows, without None."""
    if get_origin(hint) in (UnionType, Union):
        return [member for part in get_args(hint) for member in _members(part)]
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [] if hint is NoneType else [get_origin(hint) or hint]


def _type(members: list[Any], doc: Doc) -> dict[str, Any]:
    """Return what click needs to know of an option's type."""
    choices = [member for member in members if isinstance(member, str)]
    if not choices and doc.kind.startswith("{"):
        choices = re.findall(r"[\"']([^\"']*)[\"']", doc.kind.partition("}")[0])
    if choices:
        kind = click.Choice(choices)
        # A list too long for a line is left to the text, which names them all.
        too_long = len("|".join(kind.choices)) > LONGEST_CHOICE
        return {"type": kind, "metavar": "NAME"} if too_long else {"type": kind}
    return _plain_type({member for member in members if isinstance(member, type)}, doc)


def _plain_type(types: set[type], doc: Doc) -> dict[str, Any]:
    if doc.kind.startswith("int or str"):  # a size, which people write with its unit
        return {"type": str, "metavar": "SIZE"}
    if Path in types:
        return {"type": str, "metavar": "FOLDER"}
    if {str, int} <= types:
        return {"type": column, "metavar": "COLUMN"}
    if float in types and types - {float, int}:
        return {"type": numbers, "metavar": "N,N,…"}
    if float in types:
        return {"type": float, "metavar": "NUMBER"}
    # A seed may be a generator in Python; here it is a number.
    whole = int in types or doc.kind.startswith("int")
    return {"type": int, "metavar": "N"} if whole else {"type": str}


def _typed(default: Any) -> Any:
    """Return a default as one would type it."""
    return ",".join(map(str, default)) if isinstance(default, tuple) else default


def _flag(name: str) -> str:
    return FLAGS.get(name, "--" + name.replace("_", "-"))


def _plain(text: str) -> str:
    """Take the mark-up out of a docstring's text, and the ``None`` that nobody can type."""
    text = re.sub(r":\w+:`~?(?:\w+\.)*read_graph`", "'boostne embed'", text)
    text = re.sub(
        r"``([^`]+)``", lambda code: f'"{code[1]}"' if re.search(r"^[^\"']* ", code[1]) else code[1], text
    )
    return re.sub(r"\bNone (?=[a-z])", "By default it ", text)


def _of_section(ctx: click.Context, section: str) -> Sequence[GeneratedOption]:
    return [
        option
        for option in ctx.command.get_params(ctx)
        if isinstance(option, GeneratedOption) and option.section == section
    ]
