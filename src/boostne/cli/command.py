"""The class of all commands, and the options that several of them share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from boostne.cli.session import session_of


class Command(click.Command):
    """A command whose help shows examples, and options by section.

    Parameters
    ----------
    sections : mapping from str to sequence of Option, optional
        Further options, by the heading they have in the help.
    examples : sequence of str
        Command lines shown in the help.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[click.Option]] | None = None,
        examples: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections or {}
        self.examples = examples
        self.params += [option for options in self.sections.values() for option in options]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; errors refer to the help of this command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = ctx
            raise

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description and the examples."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:  # not wrapped, so that they can be copied
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its heading."""
        in_sections = {option for options in self.sections.values() for option in options}
        general = [
            option for option in self.get_params(ctx) if isinstance(option, click.Option) and option not in in_sections
        ]
        for heading, options in {"Options": general, **self.sections}.items():
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            with formatter.section(heading):
                formatter.write_dl(records)


def _set_quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    session_of(ctx).screen.quiet = value


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    session_of(ctx).debug = value


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _quiet_option(text: str) -> Callable[[Any], Any]:
    return click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_set_quiet, help=text)


quiet_option = _quiet_option("Print errors only.")
no_notes_option = _quiet_option("Print the result and errors only, without notes and progress.")
debug_option = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_set_debug,
    help="Show the traceback of an error.",
)
