"""Options that stand for parameters of library functions."""

import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

import click

from boostne.cli.estimator import MATRIX_METHODS, default_of, matrix_classes, method_classes


class LibraryOption(click.Option):
    """An option that is passed to the library only if it was given, so that the library's default holds otherwise.

    The name of the option is the name of the parameter, which may differ from the flag.

    Parameters
    ----------
    declarations : sequence of str
        As for :class:`click.Option`.
    function : str, optional
        The function that has the parameter, as "package.module:name". The help shows its default.
    """

    def __init__(self, declarations: Sequence[str], *, function: str = "", **settings: Any) -> None:
        super().__init__(declarations, default=None, **settings)
        self.function = function

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return self.opts[0]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flags and the help text, followed by the notes in brackets."""
        record = super().get_help_record(ctx)
        notes = self.notes()
        return (record[0], f"{record[1]}  [{notes}]") if record and notes else record

    def notes(self) -> str:
        """Return what follows the help text in brackets."""
        return default_note(pkgutil.resolve_name(self.function), self.name) if self.function else ""


class RegistryChoice(click.ParamType):  # type: ignore[type-arg]
    """A name in one of the library's registries, which is imported when the name is checked."""

    name = "name"

    def __init__(self, registry: Callable[[], dict[str, Any]]) -> None:
        self.registry = registry

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raise BadParameter unless the registry has the name."""
        return click.Choice(list(self.registry())).convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        """Complete the name."""
        return click.Choice(list(self.registry())).shell_complete(ctx, param, incomplete)


class ModelOption(LibraryOption):
    """A parameter of some methods, of some connectivity matrices, or of both.

    Parameters
    ----------
    declarations : sequence of str
        As for :class:`click.Option`.
    methods, matrices : sequence of str
        Names of the methods and of the matrices that the option belongs to; by default all methods.
    """

    def __init__(
        self, declarations: Sequence[str], *, methods: Sequence[str] = (), matrices: Sequence[str] = (), **settings: Any
    ) -> None:
        super().__init__(declarations, **settings)
        self._methods = methods
        self.matrices = matrices

    @property
    def methods(self) -> Sequence[str]:
        """Names of the methods that the option belongs to."""
        return self._methods or (() if self.matrices else tuple(method_classes()))

    def notes(self) -> str:
        """Return the owners, unless every method is one, and the default, or the default of each group of owners."""
        groups: dict[str, tuple[list[str], list[str]]] = {}
        for name in self.matrices:
            groups.setdefault(default_note(matrix_classes()[name], self.name), ([], []))[0].append(name)
        for name in self.methods:
            groups.setdefault(default_note(method_classes()[name], self.name), ([], []))[1].append(name)
        if len(groups) > 1:
            return "; ".join(
                "; ".join(_owners(*owners)) + (f" ({note})" if note else "") for note, owners in groups.items()
            )
        owners = _owners(self.matrices, self.methods) if self._methods or self.matrices else []
        names = [", ".join(self.type.registry())] if isinstance(self.type, RegistryChoice) else []
        return "; ".join([*names, *owners, *filter(None, groups)])

    def check(self, method: str, matrix: str) -> None:
        """Raise UsageError if the option belongs neither to the method nor to the matrix that it uses."""
        by_matrix = method in MATRIX_METHODS and self.matrices
        if method in self.methods or (by_matrix and matrix in self.matrices):
            return
        owners = " or ".join(_owners(self.matrices, self.methods))
        chosen = f"--connectivity {matrix}" if by_matrix else f"--method {method}"
        raise click.UsageError(f"{self.flag} belongs to {owners}; got {chosen}.")


def kind_settings(kind: Any) -> dict[str, Any]:
    """Return the click settings of a kind: a type, a list of choices, or the placeholder of a text."""
    if kind is None or kind is bool:
        return {"is_flag": True} if kind else {}
    if isinstance(kind, str):
        return {"metavar": kind}
    if isinstance(kind, list):
        return {"type": click.Choice(kind)}
    names = {int: "N", column: "COLUMN", numbers: "N,N,…"}
    return {"type": kind, "metavar": "NAME" if isinstance(kind, RegistryChoice) else names.get(kind, "NUMBER")}


def options_of(function: str) -> Callable[..., LibraryOption]:
    """Return a shorthand for the options of a library function: flag, kind and help text."""

    def option(flag: str, kind: Any, text: str, name: str = "", **settings: Any) -> LibraryOption:
        declarations = [flag, name] if name else [flag]
        return LibraryOption(declarations, function=function, help=text, **kind_settings(kind), **settings)

    return option


def check_model_options(ctx: click.Context) -> None:
    """Raise UsageError for an option that does not belong to the chosen method or matrix, or lacks another option."""
    method = ctx.params["method"]
    matrix = ctx.params["connectivity"] or default_of(method_classes()["boostne"], "connectivity")
    for option in ctx.command.params:
        if isinstance(option, ModelOption) and ctx.params[option.name] is not None:
            option.check(method, matrix)
    if ctx.params.get("keep_matrix") and ctx.params["checkpoint"] is None:
        raise click.UsageError("--keep-matrix needs --checkpoint FOLDER.")


def _owners(matrices: Sequence[str], methods: Sequence[str]) -> list[str]:
    kinds = {"--connectivity": matrices, "--method": methods}
    return [f"{flag} {', '.join(members)}" for flag, members in kinds.items() if members]


def given(ctx: click.Context, options: Sequence[LibraryOption]) -> dict[str, Any]:
    """Return the values of those options that were typed, by parameter name."""
    values = {option.name: ctx.params[option.name] for option in options}
    return {name: value for name, value in values.items() if value is not None}


def default_note(function: Any, parameter: str) -> str:
    """Return "default: …", with the value as it would be typed; nothing if there is no value to type."""
    default = default_of(function, parameter)
    if default is None or isinstance(default, bool):
        return ""
    return f"default: {','.join(map(str, default)) if isinstance(default, tuple) else default}"


def at_least(minimum: int) -> Callable[[click.Context, click.Parameter, int | None], int | None]:
    """Return a callback that checks an integer here, because the library's message would not name the flag."""

    def check(_: click.Context, option: click.Parameter, value: int | None) -> int | None:
        from boostne.validation import check_integer

        return None if value is None else check_integer(option.opts[0], value, minimum, maximum=None)

    return check


threads_option = click.option(
    "--threads",
    type=int,
    metavar="N",
    callback=at_least(1),
    help="Number of threads; the vectors do not depend on it. By default all cores.",
)
to_undirected_option = click.option(
    "--to-undirected", is_flag=True, help="Ignore the direction of the edges of a directed graph."
)


def column(value: str) -> str | int:
    """Parse a column: a name, or a position counted from 0."""
    return int(value) if value.isdecimal() else value


def number(value: str) -> float:
    """Parse a number; an integer stays one, because some methods require it."""
    try:
        return int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number") from None


def number_or_auto(value: str) -> float | str:
    """Parse a number or the word "auto".

    >>> number_or_auto("0.6"), number_or_auto("auto")
    (0.6, 'auto')
    """
    return value if value == "auto" else number(value)


def numbers(value: str) -> tuple[float, ...]:
    """Parse numbers separated by commas.

    >>> numbers("10,50,90")
    (10.0, 50.0, 90.0)
    """
    try:
        return tuple(float(part) for part in value.split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers separated by commas") from None


def names(value: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(name.strip() for name in value.split(",") if name.strip())
