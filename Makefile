# Development tasks. Each target installs what it needs into .venv; the only change outside this folder is that
# `make test` installs Debian's Chromium when no browser is found and the user may install packages.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
TEST_SETUP := $(VENV)/.installed-dev
MODULES := $(VENV)/.modules
DOCS_SETUP := $(VENV)/.installed-docs
BROWSER := $(VENV)/.browser
EXTRAS := dask,index,io,viz
NATIVE := $(wildcard $(addprefix src/boostne/kernels/native/*.,cpp h inl))

TOO_OLD := boostne needs Python 3.11 or newer, but $(PYTHON) is %d.%d: pass another one, as in make PYTHON=python3.11
CHECK_PYTHON = $(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and "$(TOO_OLD)" % v)'

.PHONY: demo test quick lint types format bench bench-scale docs walk-docs fuzz results clean test-oldest dist sanitize FORCE

# An editable install maps each module to its file when it is installed: reinstall if a module was added, moved or
# removed. This file is rewritten only when the list changes.
$(MODULES): FORCE
	@mkdir -p $(VENV)
	@find src -name '*.py' | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# What `make demo` needs, since a first look should not wait for the rest.
$(SETUP): pyproject.toml CMakeLists.txt $(NATIVE) $(MODULES)
	test -x $(BIN)/python || { $(CHECK_PYTHON) && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --editable ".[viz]"
	touch $@

# boostne is installed already, so that pip adds the packages of its extras only.
$(TEST_SETUP): $(SETUP) requirements-dev.txt
	$(BIN)/python -m pip install --quiet "boostne[$(EXTRAS)]" --requirement requirements-dev.txt
	touch $@

$(DOCS_SETUP): $(TEST_SETUP) requirements-docs.txt
	$(BIN)/python -m pip install --quiet --requirement requirements-docs.txt
	touch $@

# Path of a Chromium. Without one, browser tests are skipped (or fail if CI=true).
$(BROWSER): scripts/install-browser $(TEST_SETUP)
	scripts/install-browser > $@ || rm $@

demo: $(SETUP)
	$(BIN)/boostne demo

# Two processes, each with whole files of tests, so that fixtures of a module are set up once. They take the files in
# the order of tests/conftest.py, not those with many tests first.
PYTEST := -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# All checks and tests, with the branch coverage of src.
test: lint types $(BROWSER)
	$(BIN)/coverage erase
	$(BIN)/coverage run $(PYTEST)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The tests that take little time, without coverage.
quick: $(TEST_SETUP)
	$(BIN)/python $(PYTEST) -m "not slow"

# The tests of the kernels with AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer.
sanitize: $(TEST_SETUP)
	scripts/sanitize

lint: $(TEST_SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)
	$(BIN)/codespell
	$(BIN)/lint-imports

types: $(TEST_SETUP)
	$(BIN)/mypy

format: $(TEST_SETUP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(NATIVE)

bench: $(TEST_SETUP)
	$(BIN)/python -m benchmarks

bench-scale: $(TEST_SETUP)
	$(BIN)/python -m benchmarks scale

# The documentation site, in build/docs: runs all tutorials and checks all links. GENERATED is written into docs.
GENERATED := docs/api/generated docs/tutorials
docs: $(DOCS_SETUP)
	rm -rf build/docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --doctree-dir build/doctrees docs build/docs
	$(BIN)/python scripts/check_site.py build/docs

# Every code block of README and docs, and all tutorials, by the package as it is installed into a new environment.
WALK := build/walk-docs
walk-docs:
	$(CHECK_PYTHON) && $(PYTHON) -m venv --clear $(WALK)
	$(WALK)/bin/python -m pip install --quiet ".[$(EXTRAS)]" --requirement requirements-dev.txt
	$(WALK)/bin/python scripts/walk_docs.py

# Takes an hour on two cores; MINUTES=1 is a quick check. Files of failing cases are kept in fuzz/failures.
MINUTES ?= 60
fuzz: $(TEST_SETUP)
	$(BIN)/python -m fuzz --minutes $(MINUTES)

# Takes hours. Finished parts are cached in the user's cache folder, so an interrupted run can be resumed.
results: $(SETUP)
	$(BIN)/boostne reproduce --parts paper --output results
	$(BIN)/boostne reproduce --parts tuned --output results/tuned

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	rm -rf $(OLDEST) $(GENERATED)

# All tests with the lowest versions of the dependencies that pyproject.toml allows, on the lowest version of Python.
OLDEST := .venv-oldest
OLDEST_PYTHON ?= python3.11
OLDEST_SETUP := $(OLDEST)/.installed

$(OLDEST_SETUP): scripts/oldest_constraints.py pyproject.toml requirements-dev.txt CMakeLists.txt $(NATIVE) $(MODULES)
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade "pip>=25.3"
	$(OLDEST)/bin/python scripts/oldest_constraints.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt \
		--build-constraint $(OLDEST)/constraints.txt --editable ".[$(EXTRAS)]" --requirement requirements-dev.txt
	touch $@

test-oldest: $(OLDEST_SETUP)
	$(OLDEST)/bin/python $(PYTEST)

# The source distribution and the wheel, checked, installed in an empty environment and tested there.
dist:
	PYTHON=$(PYTHON) scripts/dist
