"""The fuzzer: some cases of each target, and the detection of planted faults."""

import json
import signal
from collections import Counter
from random import Random

import pytest
from fuzz.__main__ import main
from fuzz.case import CRASH, FAILURE, HANG, execute
from fuzz.runner import Runner
from fuzz.schedule import Batch, Listed
from fuzz.targets import TARGETS

# Cases of targets that start processes or fit models take longer.
CASES = {"cli-process": 2, "cli": 60, "checkpoints": 60, "connectivity": 60, "mat": 5, "labels-mat": 5}
NO_LIMIT = 600.0  # seconds: tests do not depend on the load of the machine


@pytest.fixture
def run(tmp_path):
    """Execute cases; returns the reports by number."""

    def run(target, cases, *, seed=0, hang_seconds=NO_LIMIT):
        reports = {}
        Runner(seed, tmp_path / "failures", hang_seconds).run(
            Listed([Batch(target, 0, cases)]), 1, lambda _, number, report, __: reports.update({number: report})
        )
        assert sorted(reports) == list(range(cases))
        return reports

    return run


def planted(name):
    return f"tests.fuzz_faults:{name}"


def test_no_case_fails(tmp_path):
    failed, counts = [], Counter()

    def record(target, number, report, seconds):
        counts[target] += 1
        if report.outcome in (FAILURE, CRASH, HANG):
            failed.append(f"{target} 0:{number} {report.signature}\n{report.detail}")

    batches = [Batch(target, 0, CASES.get(target, 150)) for target in TARGETS]
    Runner(0, tmp_path, NO_LIMIT).run(Listed(batches), 2, record)
    assert not failed, "\n".join(failed)
    assert counts == {batch.target: batch.stop for batch in batches}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_crash_is_attributed_to_its_case_and_the_run_continues(run, tmp_path):
    reports = run(planted("crash"), 8)
    crashed = [number for number, report in reports.items() if report.outcome == CRASH]
    assert 0 < len(crashed) < 8
    assert reports[crashed[0]].signature.endswith("SIGSEGV")
    saved = tmp_path / "failures" / f"tests.fuzz_faults.crash-0-{crashed[0]}"
    assert (saved / "files" / "input").read_text() == "hostile"
    report = (saved / "report.txt").read_text()
    assert report.startswith(f"python -m fuzz --target {planted('crash')} --case 0:{crashed[0]}\ncrash\ncrash()\n")


def test_a_hang_is_attributed_to_its_case_and_the_run_continues(run):
    reports = run(planted("hang"), 4, hang_seconds=1.0)
    hanging = {number for number in reports if Random(f"{planted('hang')} 0 {number}").random() < 0.5}
    assert 0 < len(hanging) < 4
    assert hanging == {number for number, report in reports.items() if report.outcome == HANG}


def test_a_slow_case_is_repeated_before_it_counts_as_a_hang(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SLOW_CASE_MARKER", str(tmp_path / "marker"))
    assert run(planted("slow_at_first"), 1, hang_seconds=2.0)[0].outcome != HANG
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("undocumented_exception", "KeyError"),
        ("wrong_result", "WrongResultError not the content of the file"),
        ("long_message", "WrongResultError not a message of one line"),
        ("unnamed_file", "WrongResultError the message does not name the file"),
        pytest.param("large_allocation", "MemoryError", marks=pytest.mark.skipif("sys.platform != 'linux'")),
    ],
)
def test_faults_are_found(name, signature, run):
    report = run(planted(name), 1)[0]
    assert report.outcome == FAILURE
    assert signature in report.signature


def test_documented_errors_are_counted_and_are_no_failures(run):
    assert run(planted("documented"), 1)[0].outcome == "FileFormatError"


def test_cases_are_repeatable(tmp_path):
    folder = tmp_path / "case"
    folder.mkdir()
    first, again, other = (
        [execute("node-ids", seed, number, folder).detail for number in range(20)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_program(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fuzz.__main__.FAILURES_FOLDER", tmp_path / "failures")
    out = tmp_path / "fuzz.json"
    assert main(["--cases", "3", "--target", planted("documented"), "--out", str(out), "--processes", "1"]) == 0
    assert json.loads(out.read_text())["targets"][planted("documented")]["outcomes"] == {"FileFormatError": 3}
    assert main(["--case", "5:7", "--target", planted("undocumented_exception"), "--processes", "1"]) == 1
    shown = capsys.readouterr().out
    assert f"python -m fuzz --target {planted('undocumented_exception')} --case 5:7" in shown
    assert "KeyError: 'missing'" in shown


def test_a_target_that_cannot_be_loaded_is_an_error(run):
    with pytest.raises(RuntimeError, match=r"tests\.missing:target cannot be loaded:\n(.*\n)*ModuleNotFoundError"):
        run("tests.missing:target", 1)


def test_time_is_limited(capsys):
    assert main(["--minutes", "0.001", "--target", planted("documented"), "--processes", "1"]) == 0
    assert "cases in" in capsys.readouterr().out
