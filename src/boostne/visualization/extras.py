"""Optional dependencies of reports and plots, checked before any work is done."""

from importlib.util import find_spec

from boostne.errors import BoostneError

_PACKAGES = ("plotly", "matplotlib")


class MissingExtraError(BoostneError):
    """A package that a report or plot needs is not installed."""


def require_extras() -> None:
    """Raise unless plotly and matplotlib are installed."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f'reports require {" and ".join(missing)}, not installed here: pip install "boostne[report]"'
        )


def require_matplotlib() -> None:
    """Raise unless matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError('plots need matplotlib, which is not installed: pip install "boostne[viz]"') from None
