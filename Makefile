# Everything a developer types. Each target sets up what it needs; nothing outside this folder is touched, except
# that `make test` installs Debian's Chromium where it can and there is none.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
TEST_SETUP := $(VENV)/.installed-dev
BROWSER := $(VENV)/.browser
NATIVE := CMakeLists.txt $(wildcard src/boostne/kernels/native/*)

.PHONY: demo test lint types format bench bench-scale results clean

$(SETUP): pyproject.toml $(NATIVE)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --editable ".[dask,io,report,viz]"
	touch $@

$(TEST_SETUP): $(SETUP) requirements-dev.txt
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	touch $@

# The path of a Chromium. Without one its tests are skipped, or fail where CI promises it.
$(BROWSER): scripts/install-browser $(TEST_SETUP)
	scripts/install-browser > $@ || rm $@

demo: $(SETUP)
	$(BIN)/boostne demo

test: lint types $(BROWSER)
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

# Some hours; what is already computed stays in the user's cache, and a stopped run goes on from there.
results: $(SETUP)
	$(BIN)/boostne reproduce --out results

bench-scale: $(TEST_SETUP)
	$(BIN)/python -m benchmarks scale

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
