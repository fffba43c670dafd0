"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Return the version; it is defined in pyproject.toml alone."""
    try:
        return version("boostne")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0 (not installed)"
