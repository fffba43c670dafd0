"""Benchmarks: check equality of results first, then measure time and memory, as ratios within one run."""
