"""Arithmetic of the cluster model: no measurements."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.cluster_costs import COST_NODES, Costs, fitted
from benchmarks.cluster_model import (
    TARGET,
    Case,
    build_cpu,
    calls,
    memory,
    predicted_row,
    reading_memory,
    seconds,
    sent_bytes,
)

COSTS = Costs(
    push_row=4e-6,
    push_entry=2e-7,
    pass_entry=4e-9,
    pass_row=8e-8,
    pass_column=1e-8,
    deflate_entry=4e-9,
    update_row=8e-8,
    message_byte=5e-10,
    message_call=5e-4,
    latency=3e-4,
    background=0.02,
    start=0.5,
    receive_edge=1e-7,
    read_edge=2e-7,
    push_growth=0.05,
    pass_growth=0.05,
)
CASE = Case(nodes=1_000_000, edges=10_000_000, workers=4)


def total(case, costs=COSTS):
    return sum(seconds(costs, case).values())


@pytest.mark.parametrize("field", ["nodes", "edges", "per_row"])
def test_larger_cases_take_more_time_and_no_less_memory(field):
    sizes = [replace(CASE, **{field: factor * getattr(CASE, field)}) for factor in (1, 2, 4, 8)]
    times = [total(case) for case in sizes]
    assert times == sorted(set(times))
    peaks = [memory(case) for case in sizes]
    assert peaks == sorted(peaks)
    assert peaks[-1] > peaks[0]


def test_threads_and_bandwidth_help_and_workers_share_the_rows():
    assert total(replace(CASE, threads=8)) < total(CASE)
    assert total(replace(CASE, bandwidth=CASE.bandwidth / 100)) > total(CASE)
    assert build_cpu(COSTS, replace(CASE, workers=8)) == pytest.approx(build_cpu(COSTS, CASE) / 2)
    assert memory(replace(CASE, workers=8)) < memory(CASE)


def test_memory_includes_reading_which_more_workers_do_not_share():
    few, many = (replace(CASE, workers=workers) for workers in (4, 256))
    assert reading_memory(few) == reading_memory(many) > memory(many)
    assert predicted_row(COSTS, many)["memory_GB"] == predicted_row(COSTS, many)["reading_GB"]
    assert reading_memory(TARGET) <= 32e9


@pytest.mark.parametrize("workers", [2, 4, 8, 64])
def test_traffic_is_that_of_the_exchange(workers):
    case = replace(CASE, workers=workers)
    formula = 2 * (workers - 1) / workers * 4 * 16 * case.nodes
    # Slices are whole chunks of V: the largest is up to a chunk larger than the mean.
    assert formula <= sent_bytes(case) <= formula + (workers - 1) * 4 * 16 * (case.nodes / 64 + 1)
    assert sent_bytes(case) <= 2.1 * 4 * 16 * case.nodes


def test_one_worker_sends_nothing():
    assert sent_bytes(replace(CASE, workers=1)) == calls(replace(CASE, workers=1)) == 0


def test_the_number_of_calls_does_not_grow_with_the_graph():
    assert calls(TARGET) == calls(replace(TARGET, nodes=10 * TARGET.nodes)) <= 2 * 63 * 33


@pytest.mark.parametrize(
    ("changes", "bandwidth", "bottleneck"),
    [
        ({}, 1e6, "network"),
        ({"message_byte": 1e-6}, 1e12, "messages"),
        ({"push_entry": 1e-3}, 1e12, "build X"),
        ({"pass_entry": 1e-5}, 1e12, "sweep"),
        ({"read_edge": 1e-3}, 1e12, "read"),
        ({"update_row": 1e-3}, 1e12, "update V"),
    ],
)
def test_the_bottleneck_is_named(changes, bandwidth, bottleneck):
    case = replace(CASE, bandwidth=bandwidth, edges=10_000)
    if bottleneck == "read":
        case = replace(case, edges=CASE.edges)
    row = predicted_row(replace(COSTS, **changes), case)
    assert row["bottleneck"] == bottleneck
    parts = sum(row[name] for name in ("read_s", "build_s", "sweep_s", "update_s", "exchange_s"))
    assert row["minutes"] == pytest.approx(parts / 60)


def test_costs_grow_with_the_logarithm_of_the_nodes():
    assert COSTS.growth(0.1, COST_NODES) == COSTS.growth(0.1, COST_NODES // 2) == 1
    assert COSTS.growth(0.1, 8 * COST_NODES) == pytest.approx(1.3)


def test_costs_are_fitted_to_measured_seconds():
    sizes = [(9_000_000, 150_000, 600_000), (3_000_000, 150_000, 600_000), (1_100_000, 19_000, 150_000)]
    known = np.array([4e-9, 8e-8, 1e-8])
    assert fitted(sizes, list(np.array(sizes) @ known)) == pytest.approx(known)
    assert min(fitted(sizes, [1.0, 1.1, 0.1])) == 0  # never negative
