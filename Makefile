# Everything a developer types. Each target sets up what it needs; nothing outside this folder is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
TEST_SETUP := $(VENV)/.installed-dev
NATIVE := CMakeLists.txt $(wildcard src/boostne/kernels/native/*)

.PHONY: demo test lint types format bench clean

$(SETUP): pyproject.toml $(NATIVE)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --editable ".[dask,io,viz]"
	touch $@

$(TEST_SETUP): $(SETUP) requirements-dev.txt
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	touch $@

demo: $(SETUP)
	$(BIN)/boostne demo

test: lint types
	$(BIN)/python -m pytest

lint: $(TEST_SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST_SETUP)
	$(BIN)/mypy

format: $(TEST_SETUP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(TEST_SETUP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
