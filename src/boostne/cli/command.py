"""The class of all commands, and the options that several of them have."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import click

from boostne.cli.options import Source
from boostne.cli.session import session_of

DEFAULT_METHOD = "boostne"

_METHOD = "boostne.method"
_PARAMETERS = "boostne.parameters"


class Command(click.Command):
    """A command whose options come from the functions that it calls, made when they are needed.

    Parameters
    ----------
    sources : callable, optional
        From the name of a method to the functions; called once a run.
    examples : sequence of str
        Lines to type, shown in the help.
    """

    def __init__(
        self,
        *args: Any,
        sources: Callable[[str], list[Source]] | None = None,
        examples: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sources = sources
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for the method first: the other options depend on it."""
        ctx.meta[_METHOD] = _method_among(args)
        session_of(ctx).options = self.get_params(ctx)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters and the generated ones."""
        if _PARAMETERS not in ctx.meta:
            sources = self.sources(ctx.meta.get(_METHOD, DEFAULT_METHOD)) if self.sources else []
            generated = [option for source in sources for option in source.options()]
            ctx.meta[_PARAMETERS] = [*super().get_params(ctx), *generated]
        parameters: list[click.Parameter] = ctx.meta[_PARAMETERS]
        return parameters

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and the examples."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:  # never wrapped: they are there to be copied
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under the heading that each belongs to."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def method_class(name: str) -> Any:
    """Return the estimator of a method; the default one's for a name that ``--method`` will refuse."""
    from boostne.models import METHODS

    return METHODS.get(name, METHODS[DEFAULT_METHOD])


def _method_among(args: list[str]) -> str:
    after_equals = [arg.partition("=")[2] for arg in args if arg.startswith("--method=")]
    after_space = [value for arg, value in pairwise(args) if arg == "--method"]
    return [DEFAULT_METHOD, *after_equals, *after_space][-1]


def _method_name(value: str) -> str:
    # Not a click.Choice: the registry is slow to import, and "boostne --help" does without.
    from boostne.models import METHODS

    if value not in METHODS:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(map(repr, METHODS))}.")
    return value


def _set_quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    session_of(ctx).screen.quiet = value


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    session_of(ctx).debug = value


method_option = click.option(
    "--method",
    type=_method_name,
    metavar="NAME",
    default=DEFAULT_METHOD,
    show_default=True,
    help="See 'boostne methods'.",
)
to_undirected_option = click.option(
    "--to-undirected", is_flag=True, help="Give up the direction of the edges, if the graph has one."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, expose_value=False, callback=_set_quiet, help="Print nothing but errors."
)
debug_option = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_set_debug,
    help="Show the traceback of an error.",
)
