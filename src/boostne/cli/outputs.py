"""Output files, checked before any work."""

import os
from collections.abc import Iterable
from pathlib import Path

from boostne.errors import ParameterError


def check_output(path: str, others: Iterable[str]) -> None:
    """Raise an error unless a file can be written and is none of the other files, which are read or written too."""
    from boostne.io.atomic import check_writable

    check_writable(path)
    for other in others:
        if os.path.realpath(other) == os.path.realpath(path):
            raise ParameterError(f"{path} would overwrite {other}, which the same command uses; give another file")


def check_embedding_output(path: str, others: Iterable[str]) -> None:
    """Check a file for an embedding, and the file of its target vectors, which is written or removed with it."""
    from boostne.io.embeddings import known_suffix, targets_path

    used = list(others)
    suffix = known_suffix(Path(path))
    check_output(path, used)
    if suffix != ".npz":
        check_output(str(targets_path(Path(path))), used)
