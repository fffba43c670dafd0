"""Errors caused by input or environment rather than by bugs, and the categories of warnings.

Each message names the problem, the value found and the remedy. The command line prints it without a traceback.
"""

import inspect
import warnings


class BoostneError(Exception):
    """Base class of all errors that a user can fix."""


class GraphError(BoostneError, ValueError):
    """An invalid or unsupported graph: no edges, invalid weights, directed where undirected is required."""


class FileFormatError(BoostneError, ValueError):
    """A file that violates its format; the message names the file and, if known, the line."""


class ParameterError(BoostneError, ValueError):
    """A parameter out of range, or incompatible parameters."""


class UnknownNodeError(BoostneError, KeyError):
    """A node id that is not in the embedding."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the message in quotes.
        return str(self.args[0])


class MemoryLimitError(BoostneError, MemoryError):
    """A computation that would exceed the available memory or its limit; raised before allocating."""


class CheckpointError(BoostneError, ValueError):
    """A checkpoint of a different run or version, or a folder that is not a checkpoint."""


class ClusterError(BoostneError, RuntimeError):
    """An unusable or lost cluster: no workers, mismatched versions, a closed client."""


class EngineError(BoostneError, RuntimeError):
    """An engine that failed, or that is unavailable because a library or device is missing."""


class BoostneWarning(UserWarning):
    """Base class of all warnings of this library."""


class InputWarning(BoostneWarning):
    """Input of which a part was left out, or that was read by a guess; the message says how to decide otherwise."""


class ConvergenceWarning(BoostneWarning):
    """An iterative computation that stopped before it reached its tolerance."""


class CheckpointWarning(BoostneWarning):
    """A part of a checkpoint or of a cache that is damaged and computed again, or that could not be stored."""


class PerformanceWarning(BoostneWarning):
    """A computation that is slower than it could be, such as without the compiled kernels."""


def warn_caller(message: str, category: type[BoostneWarning]) -> None:
    """Issue a warning that points to the line that called this library, however deep inside of it this is."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
