"""The program: its commands, exit codes and error messages."""

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import click

from boostne.cli.clusters import clusters
from boostne.cli.demo import demo
from boostne.cli.embed import embed, estimate
from boostne.cli.evaluate import evaluate
from boostne.cli.explore import explore
from boostne.cli.generate import generate
from boostne.cli.limited_memory import is_out_of_memory, out_of_memory_message
from boostne.cli.links import links
from boostne.cli.listings import datasets, methods
from boostne.cli.plot import plot
from boostne.cli.propagate import propagate
from boostne.cli.recommend import recommend
from boostne.cli.reproduce import report, reproduce
from boostne.cli.session import Session
from boostne.cli.signals import describe, exit_code
from boostne.cli.similar import similar
from boostne.cli.streams import flush_stdout, print_error, stdout_error
from boostne.cli.transform import transform
from boostne.cli.tune import tune
from boostne.cli.update import update
from boostne.errors import BoostneError

# Usage errors exit with 2, which is click's own code.
OK, FAILURE, MEMORY, BROKEN_PIPE = 0, 1, 3, 141

_COMPLETE = "_BOOSTNE_COMPLETE"

_HELP = """Embed the nodes of a graph at several levels, from coarse to fine.

"boostne COMMAND --help" describes a command and shows examples.
"""

_EPILOG = """\b
Start with:
  boostne demo
  boostne embed digits -o digits.npz
  boostne evaluate digits.npz digits

\b
Exit codes:
  0    success
  1    invalid input: a file, a graph or the value of a parameter
  2    invalid command line
  3    not enough memory
  130  interrupted by Ctrl-C; no incomplete file is left
  143  terminated by SIGTERM; no incomplete file is left
"""


class Program(click.Group):
    """A group of commands that suggests the closest name for an unknown one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order they were added."""
        del ctx
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command; suggest the closest name for an unknown one."""
        name = args[0]  # click consumes one that begins with a hyphen
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Commands: {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"there is no command {name!r}. {hint}", ctx) from error


@click.group(
    cls=Program,
    help=_HELP,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def program(ctx: click.Context, version: bool) -> None:
    """Run ``boostne``."""
    if version:
        from boostne import __version__

        click.echo(f"boostne {__version__}")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for _command in (
    demo,
    embed,
    transform,
    update,
    recommend,
    similar,
    plot,
    evaluate,
    links,
    clusters,
    explore,
    tune,
    estimate,
    propagate,
    methods,
    datasets,
    generate,
    reproduce,
    report,
):
    program.add_command(_command)


def run(arguments: Sequence[str]) -> int:
    """Run the program and return its exit code."""
    if _COMPLETE in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, "boostne", _COMPLETE, os.environ[_COMPLETE])
    session = Session()
    # Characters that the terminal cannot encode are replaced. The stream may not be a text file.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _invoke(arguments, session)
        flush_stdout()
    except (Exception, KeyboardInterrupt) as error:
        code, message = _code_and_message(_with_file_name(error), session)
        if session.debug:
            traceback.print_exc()
        if message:
            print_error(message, *_hints(error))
    return code


def _invoke(arguments: Sequence[str], session: Session) -> int:
    try:
        with _one_line_notes(session), program.make_context("boostne", list(arguments), obj=session) as context:
            program.invoke(context)
    except click.exceptions.Exit as leave:  # raised by --help
        return leave.exit_code
    return OK


def _code_and_message(error: BaseException, session: Session) -> tuple[int, str]:
    """Return the exit code and the message of an expected error; raise any other again."""
    match error:
        case KeyboardInterrupt():
            return exit_code(error), "; ".join(filter(None, (describe(error), session.saved)))
        case BrokenPipeError():  # the reader of the standard output ended, such as head
            return BROKEN_PIPE, ""
        case click.ClickException():
            code, message = error.exit_code, error.format_message()
        case _ if is_out_of_memory(error):
            code, message = MEMORY, session.wording.translate(out_of_memory_message(error))
        case OSError(filename=file, strerror=str(reason)) if file is not None:
            code, message = FAILURE, f"{file}: {reason}"
        case BoostneError() | OSError() | FloatingPointError():
            code, message = FAILURE, session.wording.translate(str(error))
        case _:
            raise error
    return code, f"error: {message}"


def _with_file_name(error: BaseException) -> BaseException:
    """Return an error that names the standard output, if click could not write to it."""
    if isinstance(error, OSError) and error.filename is None:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_code is click.echo.__code__:
            return stdout_error(error)
    return error


def _hints(error: BaseException) -> list[str]:
    if not isinstance(error, click.ClickException):
        return []
    context = getattr(error, "ctx", None)
    return [f"Try: {context.command_path if context else 'boostne'} --help"]


@contextmanager
def _one_line_notes(session: Session) -> Iterator[None]:
    """Print the library's log records and warnings, one line each."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kind = "read" if record.name == "boostne.io" else "note"
            write(kind if record.levelno < logging.WARNING else "warning", record.getMessage())

    def write(kind: str, message: object) -> None:
        if not session.screen.quiet:
            session.screen.note(kind, session.wording.translate(str(message)))

    def show(message: object, *args: object, **kwargs: object) -> None:
        del args, kwargs
        write("warning", message)

    logger, handler = logging.getLogger("boostne"), Notes()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
