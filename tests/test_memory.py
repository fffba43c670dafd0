"""Sizes in bytes and memory budgets."""

import numpy as np
import pytest

import boostne.memory
from boostne.errors import MemoryLimitError, ParameterError
from boostne.memory import MemoryBudget, check_memory, parse_bytes, resident_memory

MB = 1_000_000


@pytest.fixture
def free_memory(monkeypatch):
    """Return a function that sets the apparent available memory."""
    return lambda size: monkeypatch.setattr(boostne.memory, "available_memory", lambda: size)


class TestParseBytes:
    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("2GB", 2_000_000_000),
            ("1.5 gb", 1_500_000_000),
            ("2G", 2_000_000_000),
            ("750MB", 750_000_000),
            ("12kB", 12_000),
            ("3TB", 3 * 10**12),
            ("3e9", 3_000_000_000),
            (4096, 4096),
            (np.int64(4096), 4096),
            ("7 B", 7),
        ],
    )
    def test_decimal_units_are_powers_of_1000(self, text, size):
        assert parse_bytes("memory_limit", text) == size

    @pytest.mark.parametrize(
        ("text", "size"),
        [("2GiB", 2 * 2**30), ("12 KiB", 12 * 2**10), ("1.5 mib", 3 * 2**19), ("2TiB", 2 * 2**40), ("4Gi", 4 * 2**30)],
    )
    def test_binary_units_are_powers_of_1024(self, text, size):
        assert parse_bytes("memory_limit", text) == size

    @pytest.mark.parametrize(
        "text", ["", "GB", "GiB", "2iB", "-2GB", "-1", "2 pounds", "0", True, None, "nan", "inf", "1e999", "1e308EB"]
    )
    def test_anything_else_raises(self, text):
        with pytest.raises(ParameterError, match="memory_limit must be a size such as '2GB' or '2GiB'"):
            parse_bytes("memory_limit", text)


class TestMemoryBudget:
    def test_default_is_80_percent_of_the_available_memory(self, free_memory):
        free_memory(1000 * MB)
        budget = MemoryBudget.within()
        assert (budget.size, budget.limit) == (800 * MB, None)
        assert budget.fits(800 * MB)
        assert not budget.fits(801 * MB)

    def test_a_limit_includes_the_memory_already_held(self, free_memory):
        free_memory(1000 * MB)
        held = resident_memory()
        budget = MemoryBudget.within(held + 10 * MB)
        assert budget.size == pytest.approx(10 * MB, abs=5 * MB)
        assert budget.held == pytest.approx(held, abs=5 * MB)
        assert budget.limit == held + 10 * MB
        assert MemoryBudget.within(1).size == 0

    def test_a_limit_above_the_available_memory_is_lowered_to_it(self, free_memory):
        free_memory(1000 * MB)
        assert MemoryBudget.within("100GB").size == 1000 * MB

    def test_everything_fits_if_the_available_memory_is_unknown(self, free_memory):
        free_memory(None)
        assert MemoryBudget.within().fits(10**18)
        check_memory(10**18, "X", "Use less.")

    def test_check_without_a_limit_names_the_available_memory(self):
        with pytest.raises(
            MemoryLimitError,
            match=r"^X would need about 2\.0 GB of memory; "
            r"1\.0 GB \(80% of the available memory\) may be used\. Do Y\.$",
        ):
            MemoryBudget(1000 * MB, 0, None).check(2000 * MB, "X", "Do Y.")

    def test_check_with_a_limit_names_the_smallest_sufficient_one(self):
        budget = MemoryBudget(100 * MB, 300 * MB, 400 * MB)
        budget.check(100 * MB, "X", "Do Y.")
        with pytest.raises(
            MemoryLimitError,
            match=r"the limit of 400 MB leaves 100 MB, because 300 MB are already in use\. "
            r"The smallest sufficient memory_limit is '490MB'\. Do Y\.$",
        ):
            budget.check(180 * MB, "X", "Do Y.")

    def test_check_memory_raises_if_too_little_is_free(self, free_memory):
        free_memory(10 * MB)
        check_memory(10 * MB, "X", "Do Y.")
        with pytest.raises(MemoryLimitError, match=r"X would need about 11 MB of memory; 10 MB is free\. Do Y\."):
            check_memory(11 * MB, "X", "Do Y.")
