"""What a report needs beyond the package itself; it is asked for before any work is done."""

from importlib.util import find_spec

from boostne.errors import BoostneError

_NEEDED = ("plotly", "matplotlib")


class MissingExtraError(BoostneError):
    """A package that a report needs is not installed."""


def require_extras() -> None:
    """Raise unless plotly and matplotlib are installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"a report needs {' and '.join(missing)}, which cannot be imported here: "
            'pip install "boostne[report]"'
        )
