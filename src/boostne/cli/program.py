"""The program: its commands, and what becomes of an error."""

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any, NoReturn

import click

from boostne.cli.commands import COMMANDS
from boostne.cli.options import on_command_line
from boostne.cli.session import Session
from boostne.errors import BoostneError

# click itself leaves with 2 for a command line that it cannot understand.
OK, FAULT, MEMORY, INTERRUPTED, BROKEN_PIPE = 0, 1, 3, 130, 141

_COMPLETE = "_BOOSTNE_COMPLETE"

_EPILOG = """\b
Begin with:
  boostne demo
  boostne embed digits -o digits.npz
  boostne evaluate digits.npz digits

\b
Exit codes:
  0    done
  1    the input cannot be used: a file, a graph, the value of a parameter
  2    the command line cannot be understood
  3    not enough memory
  130  interrupted by Ctrl-C; no file is left half written
"""


class Program(click.Group):
    """A group of commands that knows what a mistyped one may have meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands as they were added, not by the alphabet: the most used come first."""
        del ctx
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command; for an unknown one, suggest the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = (
                f"Did you mean {close[0]!r}?" if close else f"Commands: {', '.join(self.list_commands(ctx))}."
            )
            raise click.UsageError(f"there is no command {args[0]!r}. {hint}", ctx) from error


@click.group(cls=Program, epilog=_EPILOG, invoke_without_command=True)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def program(ctx: click.Context, version: bool) -> None:
    """Vectors for the nodes of a graph, from coarse to fine.

    boostne reads a graph, computes a multi-level embedding of its nodes, and writes it with the nodes' own ids.
    "boostne COMMAND --help" explains a command and shows examples.
    """
    if version:
        from boostne import __version__

        click.echo(f"boostne {__version__}")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for _command in COMMANDS:
    program.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the program; returns its exit code."""
    if _COMPLETE in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, "boostne", _COMPLETE, os.environ[_COMPLETE])
    session = Session()
    # No sign is worth an error on a terminal that lacks it. The stream may be closed, or not a file's.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _invoke(arguments, session)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has gone. Python flushes once more when it ends: let it flush into nothing.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        code, message = _verdict(error, session)
        if session.debug:
            traceback.print_exc()
        click.echo(f"boostne: {on_command_line(message, session.options)}", err=True)
    return code


def _invoke(arguments: Sequence[str], session: Session) -> int:
    try:
        with _plain_notes(session), program.make_context("boostne", list(arguments), obj=session) as context:
            program.invoke(context)
    except click.exceptions.Exit as leave:  # as --help does
        return leave.exit_code
    return OK


def _verdict(error: BaseException, session: Session) -> tuple[int, str]:
    """Return the exit code and the message for an error that is nobody's bug; any other goes on its way."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, session.interrupted
        case click.ClickException():
            code, message = error.exit_code, _usage(error)
        case MemoryError():
            code, message = MEMORY, str(error) or "not enough memory; 'boostne estimate' tells what is needed"
        case OSError(filename=file, strerror=str(reason)) if file is not None:
            code, message = FAULT, f"{file}: {reason}"
        case BoostneError() | OSError() | FloatingPointError():
            code, message = FAULT, str(error)
        case _:
            raise error
    return code, f"error: {message}"


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "boostne"
    return f"{error.format_message()}\nTry: {command} --help"


@contextmanager
def _plain_notes(session: Session) -> Iterator[None]:
    """Show the library's log and its warnings as one line each."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell("note" if record.levelno < logging.WARNING else "warning", record.getMessage())

    def tell(kind: str, message: object) -> None:
        if not session.screen.quiet:
            session.screen.note(kind, on_command_line(str(message), session.options))

    def show(message: object, *args: object, **kwargs: object) -> None:
        del args, kwargs
        tell("warning", message)

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
