"""The class of all commands, and the options that several of them share."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from boostne.cli.session import session_of

# Names that other programs have for the options of this one.
_SYNONYMS = {
    "--size": "--dimensions",
    "--splits": "--repeats",
    "--random-state": "--seed",
    "--jobs": "--threads",
    "--iterations": "--max-iter",
}


class Command(click.Command):
    """A command whose help shows examples, and options by section.

    Parameters
    ----------
    sections : mapping from str to sequence of Option, optional
        Further options, by the heading they have in the help.
    examples : sequence of str
        Command lines shown in the help.
    common : sequence of str
        Names of the parameters that the help shows first, under a heading of their own.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[click.Option]] | None = None,
        examples: Sequence[str] = (),
        common: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections or {}
        self.examples = examples
        self.common = common
        self.params += [option for options in self.sections.values() for option in options]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; errors refer to the help and to the options of this command."""
        others = ctx.parent.command.commands if ctx.parent and isinstance(ctx.parent.command, click.Group) else {}
        session_of(ctx).wording.commands = (self, *others.values())
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(self._explain(ctx, error.option_name, others), ctx) from error
        except click.UsageError as error:
            error.ctx = ctx
            raise

    def _explain(self, ctx: click.Context, name: str, others: Mapping[str, click.Command]) -> str:
        """Return what is wrong with an unknown option: it is a part of one, an option of other commands, or a typo."""
        flags = [flag for option in self.get_params(ctx) for flag in (*option.opts, *option.secondary_opts)]
        flags = [flag for flag in flags if flag.startswith("--")]
        longer = [flag for flag in flags if len(name) > len("--") and flag.startswith(name)][:3]
        # --format of a graph is --label-format of labels.
        longer = longer or [flag for flag in flags if flag.endswith(name[1:]) or flag == _SYNONYMS.get(name)][:3]
        owners = [other for other, command in others.items() if any(name in one.opts for one in command.params)]
        if owners and not longer:
            named = ", ".join(f"'boostne {other}'" for other in owners[:3])
            return f"there is no option {name}; it belongs to {named}."
        close = longer or get_close_matches(name, flags, n=2)
        return f"there is no option {name}." + (f" Did you mean {' or '.join(close)}?" if close else "")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description and the examples."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:  # not wrapped, so that they can be copied
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its heading."""
        known = {option.name: option for option in self.get_params(ctx) if isinstance(option, click.Option)}
        common = [known[name] for name in self.common]
        taken = {option for options in self.sections.values() for option in options} | set(common)
        sections = {
            **({"Common options": common} if common else {}),
            "Further options" if common else "Options": [option for option in known.values() if option not in taken],
            **{head: [one for one in options if one not in common] for head, options in self.sections.items()},
        }
        for heading, options in sections.items():
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
