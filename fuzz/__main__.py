"""``python -m fuzz``: fuzz for some time, execute a number of cases per target, or repeat one case."""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from fuzz.case import FAILURES, OK, Report
from fuzz.runner import HANG_SECONDS, Runner
from fuzz.schedule import Batch, Listed, Schedule, TimeShared
from fuzz.targets import TARGETS

FAILURES_FOLDER = Path(__file__).with_name("failures")
SHOWN_PER_SIGNATURE = 3
BATCH = 50


class Summary:
    """Counts of outcomes by target, printed as a table at the end."""

    def __init__(self, seed: int, *, verbose: bool = False) -> None:
        self.seed = seed
        self.outcomes: dict[str, Counter[str]] = {}
        self.seconds: Counter[str] = Counter()
        self.slowest: Counter[str] = Counter()
        self.signatures: Counter[str] = Counter()
        self._verbose = verbose
        self._begin = time.monotonic()

    def record(self, target: str, number: int, report: Report, seconds: float) -> None:
        """Count a case; print it if it failed."""
        self.outcomes.setdefault(target, Counter())[report.outcome] += 1
        self.seconds[target] += seconds
        self.slowest[target] = max(self.slowest[target], seconds)
        if report.outcome in FAILURES:
            self.signatures[report.signature] += 1
            if self.signatures[report.signature] <= SHOWN_PER_SIGNATURE:
                print(f"{report.outcome}: {report.signature}\n  python -m fuzz --target {target} "
                      f"--case {self.seed}:{number}", flush=True)  # fmt: skip
        if self._verbose:
            print(f"{target} {self.seed}:{number}: {report.outcome}\n{report.detail}")

    @property
    def n_failures(self) -> int:
        """Number of failed cases."""
        return self.signatures.total()

    def to_dict(self) -> dict:
        """Return the counts for a JSON file."""
        elapsed = time.monotonic() - self._begin
        cases = sum(counts.total() for counts in self.outcomes.values())
        return {
            "seed": self.seed,
            "seconds": round(elapsed, 1),
            "cases": cases,
            "cases_per_second": round(cases / elapsed, 1),
            "failures": self.n_failures,
            "targets": {
                name: {
                    "cases": counts.total(),
                    "seconds": round(self.seconds[name], 1),
                    "slowest_seconds": round(self.slowest[name], 2),
                    "outcomes": dict(sorted(counts.items())),
                }
                for name, counts in sorted(self.outcomes.items())
            },
            "signatures": dict(self.signatures.most_common()),
        }

    def print(self) -> None:
        """Print one line per target, and the failures by signature."""
        found = self.to_dict()
        print(f"{'target':22}{'cases':>9}{'per s':>8}{'slowest':>9}{'ok':>9}{'refused':>9}{'failures':>9}")
        for name, row in found["targets"].items():
            counts = self.outcomes[name]
            failures = sum(counts[kind] for kind in FAILURES)
            refused = counts.total() - counts[OK] - failures
            rate = row["cases"] / max(row["seconds"], 1e-9)
            print(
                f"{name:22}{row['cases']:9,}{rate:8.0f}{row['slowest_seconds']:8.2f}s"
                f"{counts[OK]:9,}{refused:9,}{failures:9,}"
            )
        print(f"{found['cases']:,} cases in {found['seconds']:,.0f} s ({found['cases_per_second']:.0f} per second), "
              f"{found['failures']:,} failures")  # fmt: skip
        for signature, count in self.signatures.most_common():
            print(f"{count:9,}  {signature}")


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzers; returns 1 if a case failed."""
    options = parse(arguments)
    seed, schedule = make_schedule(options)
    summary = Summary(seed, verbose=options.case is not None)
    Runner(seed, FAILURES_FOLDER, options.hang_seconds).run(schedule, options.processes, summary.record)
    summary.print()
    if options.out is not None:
        options.out.write_text(json.dumps(summary.to_dict(), indent=1) + "\n")
    if summary.n_failures:
        print(f"the files of the failing cases are in {FAILURES_FOLDER}")
    return int(summary.n_failures > 0)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="time to fuzz (default: 60)")
    parser.add_argument("--cases", type=int, metavar="N", help="execute N cases per target instead")
    parser.add_argument("--case", metavar="SEED:NUMBER", help="repeat one case of --target and print its report")
    parser.add_argument("--target", nargs="+", metavar="NAME", help=f"by default all: {', '.join(TARGETS)}")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--processes", type=int, default=2, help="default: 2")
    parser.add_argument("--hang-seconds", type=float, default=HANG_SECONDS, help="limit per case (default: 20)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the counts as JSON")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.target or () if name not in TARGETS and ":" not in name]
    if unknown:
        parser.error(f"unknown target: {', '.join(unknown)}; choose from {', '.join(TARGETS)}")
    if options.case is not None and len(options.target or ()) != 1:
        parser.error("--case requires one --target")
    return options


def make_schedule(options: argparse.Namespace) -> tuple[int, Schedule]:
    """Return the seed and the cases to be executed."""
    targets = options.target or list(TARGETS)
    if options.case is not None:
        seed, number = map(int, options.case.split(":"))
        return seed, Listed([Batch(targets[0], number, number + 1)])
    if options.cases is not None:
        starts = range(0, options.cases, BATCH)
        return options.seed, Listed(
            [Batch(name, start, min(start + BATCH, options.cases)) for start in starts for name in targets]
        )
    shares = {name: TARGETS[name].share if name in TARGETS else 1.0 for name in targets}
    return options.seed, TimeShared(shares, 60 * options.minutes)


if __name__ == "__main__":
    sys.exit(main())
