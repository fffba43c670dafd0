"""A reproduction in several processes: the same files, and no process is left after an error or an interrupt."""

import json
import logging
import multiprocessing
import warnings
from dataclasses import replace

import pytest
from threadpoolctl import threadpool_info

from boostne.errors import BoostneError, ParameterError
from boostne.reproduction import Protocol, parallel, reproduce, worker
from boostne.reproduction.cache import Cache
from boostne.reproduction.computations import Computation, Pending
from boostne.reproduction.fitting import DatasetFitter
from boostne.reproduction.parallel import TASKS_PER_PROCESS, make_tasks
from boostne.reproduction.worker import Assignment, Failed, Task

TINY = Protocol(
    train=(10, 50),
    repeats=2,
    levels=(1, 8),
    curve_train=(50,),
    map_nodes=60,
    tuned_methods=("SpectralClustering", "BoostNE"),
    tuned_train=(5, 50),
    tuned_repeats=2,
    tuned_strengths=(4, 64),
)
METHODS = ("SpectralClustering", "NetMF", "BoostNE")


def run(folder, protocol=TINY, methods=METHODS, **options):
    return reproduce(
        ["digits"], methods, folder / "results", Cache(folder / "cache"), tuned_datasets=["digits"], protocol=protocol,
        **options,
    )  # fmt: skip


def contents(folder):
    """Return all files but the one with timings."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def entries(folder):
    return {path.name for path in (folder / "cache").glob("[!.]*.json")}


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    return folder, run(folder)


def test_files_do_not_depend_on_the_number_of_processes(serial, tmp_path):
    folder, found = serial
    reports = []
    again = run(tmp_path, jobs=3, progress=reports.append)
    assert contents(again.folder) == contents(found.folder)
    assert entries(tmp_path) == entries(folder)
    assert len({report.detail for report in reports}) == len(reports) == len(entries(folder))
    done = [report.done for report in reports]
    assert done == sorted(done)
    assert 0 == done[0] < done[-1] < 1
    machine = json.loads((again.folder / "run.json").read_text())["machine"]
    assert (machine["jobs"], machine["threads"]) == (3, max(1, machine["cores"] // 3))
    assert multiprocessing.active_children() == []


def test_only_missing_values_are_computed(serial, tmp_path):
    """A cached fit is repeated for a missing score, but its entry is left as it is."""
    folder, found = serial
    (tmp_path / "cache").mkdir()
    for path in (folder / "cache").iterdir():
        if '"what":"scores"' not in path.read_text():
            (tmp_path / "cache" / path.name).write_bytes(path.read_bytes())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    again = run(tmp_path, jobs=2, threads=1)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert contents(again.folder) == contents(found.folder)
    reports = []
    run(tmp_path, jobs=2, progress=reports.append)
    assert reports == []


def test_jobs_must_be_positive(tmp_path):
    with pytest.raises(ParameterError, match="jobs must be an integer of at least 1; got 0"):
        run(tmp_path, jobs=0)


# ---- tasks


class NamedData:
    def __init__(self, name):
        self.name = name


def pending_of(costs):
    """Return computations with the given costs by data set and title."""
    return [
        Pending(DatasetFitter(NamedData(dataset), None), title, {}, Computation(name, {}, cost, dict))
        for (dataset, title), group in costs.items()
        for name, cost in enumerate(group)
    ]


def test_tasks_contain_each_computation_once_and_the_longest_come_first():
    costs = {("a", "a: x"): [1, 1, 2], ("a", "a: y"): [10, 40, 30, 20], ("b", "b: x"): [3]}
    tasks = make_tasks({"paper": pending_of(costs), "tuned": pending_of({("a", "a: z"): [5]})}, jobs=2)
    everything = {("paper", *key): group for key, group in costs.items()} | {("tuned", "a", "a: z"): [5]}
    assert sorted((*task[:3], name) for task in tasks for name in task.names) == sorted(
        (*key, name) for key, group in everything.items() for name in range(len(group))
    )
    by_cost = [sum(everything[task[:3]][name] for name in task.names) for task in tasks]
    assert by_cost == sorted(by_cost, reverse=True)
    # 112 / (2 processes × 2 tasks) = 28: 100 is split into four, which are as equal as possible; the others are not.
    assert TASKS_PER_PROCESS == 2
    assert [task.names for task in tasks if task.title == "a: y"] == [(1,), (2,), (3,), (0,)]
    assert [task.names for task in tasks if task.title == "a: x"] == [(0, 1, 2)]


def test_shares_keep_the_order_of_the_computations():
    (first, second) = make_tasks({"paper": pending_of({("a", "a: x"): [1, 2, 3, 4]})}, jobs=1)
    assert (first.names, second.names) == ((0, 3), (1, 2))


# ---- failures


def test_error_in_a_process_is_raised_in_the_parent(tmp_path):
    invalid = replace(TINY, tuned_strengths=(-1,))
    with pytest.raises(ParameterError, match=r"C must be .*-1"):
        run(tmp_path, invalid, ("SpectralClustering",), jobs=2)
    assert multiprocessing.active_children() == []


def test_killed_process_ends_the_run(serial, tmp_path):
    folder, found = serial

    def kill_one(progress):
        if progress.done:  # something is cached
            multiprocessing.active_children()[0].kill()

    with pytest.raises(
        BoostneError, match=r"a process of digits: .* was killed by SIGKILL; finished results are cached"
    ):
        run(tmp_path, jobs=2, progress=kill_one)
    assert multiprocessing.active_children() == []
    kept = entries(tmp_path)
    assert 0 < len(kept) < len(entries(folder))
    assert contents(run(tmp_path, jobs=2).folder) == contents(found.folder)


def test_interrupt_ends_all_processes(tmp_path):
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, jobs=2, progress=interrupt)
    assert multiprocessing.active_children() == []
    assert not (tmp_path / "results" / "scores.csv").exists()


# ---- the worker, in this process


@pytest.fixture
def assignment(tmp_path):
    return Assignment(METHODS, TINY, 1, tmp_path, logging.INFO)


@pytest.fixture
def notes_restored(monkeypatch):
    """Restore what a worker changes for its whole process."""
    logger = logging.getLogger("boostne")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "level", logging.INFO)
    with warnings.catch_warnings():
        yield


def test_unexpected_error_names_the_computations(assignment):
    sent = []
    worker._run(Task("tuned", "digits", "digits: no such method", (5,)), assignment, sent.append)
    (failed,) = sent
    assert isinstance(failed, Failed)
    assert str(failed.error) == "digits: no such method failed with KeyError: 'vectors'"
    assert "Traceback" in failed.error.__notes__[0]


@pytest.mark.usefixtures("notes_restored")
def test_libraries_use_the_threads_of_the_worker(monkeypatch, assignment):
    found = []
    monkeypatch.setattr(worker, "_run", lambda *_: found.extend(threadpool_info()))
    ours, theirs = multiprocessing.Pipe()
    ours.send(Task("tuned", "digits", "digits", (5,)))
    ours.send(None)
    worker.work(theirs, assignment)
    assert found
    assert {library["num_threads"] for library in found} == {1}


@pytest.mark.usefixtures("notes_restored")
def test_warnings_and_log_records_are_sent(assignment):
    sent = []
    worker._forward_notes(sent.append, assignment.log_level)
    warnings.warn("rounded", RuntimeWarning, stacklevel=1)
    logging.getLogger("boostne").info("window %d", 5)
    logging.getLogger("boostne").debug("not sent")
    assert sent == [worker.Warned(RuntimeWarning, "rounded"), worker.Logged(logging.INFO, "window 5")]


def test_warnings_and_log_records_are_repeated_in_the_parent(caplog):
    with pytest.warns(RuntimeWarning, match="rounded"):
        parallel._handle_note(worker.Warned(RuntimeWarning, "rounded"))
    with caplog.at_level(logging.INFO, "boostne"):
        parallel._handle_note(worker.Logged(logging.INFO, "window 5"))
    assert caplog.messages == ["window 5"]
