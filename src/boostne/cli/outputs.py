"""Output files, checked before any work."""

import os
from collections.abc import Iterable

from boostne.errors import ParameterError


def check_output(path: str, others: Iterable[str]) -> None:
    """Raise an error unless a file can be written and is none of the other files, which are read or written too."""
    from boostne.io.atomic import check_writable

    check_writable(path)
    for other in others:
        if os.path.realpath(other) == os.path.realpath(path):
            raise ParameterError(f"{path} would overwrite {other}, which the same command uses; give another file")
