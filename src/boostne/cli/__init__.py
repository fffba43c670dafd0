"""The command line: parse, call, print."""

from boostne.cli.program import main

__all__ = ["main"]
