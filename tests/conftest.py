"""Fixtures that more than one test module uses."""

import os
import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a job in the background of a shell: the processes that tests start and interrupt would ignore it, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "datasets"


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder with the paper's data sets; without one skip, or fail where CI promises it."""
    given = os.environ.get("BOOSTNE_DATA")
    folders = [Path(given), _BESIDE_THE_REPOSITORY] if given else [_BESIDE_THE_REPOSITORY]
    for folder in folders:
        if folder.is_dir():
            return folder
    places = " or ".join(map(str, folders))
    reason = f"the paper's data sets are not in {places}; set BOOSTNE_DATA to their folder"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def paper_data(data_folder, monkeypatch):
    """Let ``load_dataset`` find the paper's data sets."""
    monkeypatch.setenv("BOOSTNE_DATA", str(data_folder))
    return data_folder
