"""Matplotlib, which is optional, checked before any work is done."""

from boostne.errors import BoostneError


class MissingExtraError(BoostneError):
    """A package that a plot needs is not installed."""


def require_matplotlib() -> None:
    """Raise unless matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError('plots need matplotlib, which is not installed: pip install "boostne[viz]"') from None
