# For a fresh machine with Python, make and a compiler:
#   make demo   sets up a virtual environment and solves a sparse black-box problem
#   make test   sets up, lints, type-checks, checks the import layers, runs all tests
#   make quick  the same with the fast tests only, between two edits

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROCESSES ?= 2
export SZOHT_DATA

.PHONY: setup demo demo-cluster test quick lint types layers pytest pytest-quick test-data \
	test-core-types sdist-test setup-other-python test-other-python test-statistical bench \
	bench-peers clean

# torch first and pinned: whatever depends on it must not bring another build
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

$(VENV)/.demo: pyproject.toml
	test -f $(VENV)/.ready || $(PYTHON) -m venv $(VENV)
	test -f $(VENV)/.ready || $(BIN)/python -m pip install --quiet --editable ".[cli,plot]"
	touch $@

setup: $(VENV)/.ready

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py --out out/demo.png

demo-cluster: setup
	$(BIN)/python examples/cluster.py

# the type checker takes one processor and half a minute: it runs beside the linters, before the tests
test: setup
	$(MAKE) --jobs=2 --output-sync=target lint types layers
	$(MAKE) pytest

# between two edits; the type checker, which takes a second where it has run before, beside the tests
quick: setup
	$(MAKE) --jobs=4 --output-sync=target pytest-quick types lint layers

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports --no-logo

# Files of data are looked for in the folders that SZOHT_DATA lists; where it is set, a test that
# does not find its file there fails, otherwise it is skipped. A browser is used if there is one.
PYTEST := -m pytest -m "not statistical" --numprocesses=$(PROCESSES) --dist=loadfile \
	--no-loadscope-reorder --durations=20

pytest: setup
	$(BIN)/python $(PYTEST) --cov --cov-report=term --cov-fail-under=94

pytest-quick: setup
	$(BIN)/python $(PYTEST) --quick

test-data: setup
	$(BIN)/python -m pytest -m data tests

# What rounding could move: stores, replay, determinism, what solvers reach, and the documents, with
# the arithmetic of another processor, CORETYPE=Haswell for instance (see tests/other_processor.py).
test-core-types: setup
	$(BIN)/python tests/other_processor.py $(if $(CORETYPE),--core-type $(CORETYPE)) \
		$(BIN)/python $(PYTEST) $(ROUNDED)

ROUNDED := tests/adapters tests/algorithms tests/applications tests/operators tests/paper \
	tests/problems tests/run tests/store --ignore tests/store/test_crafted.py \
	tests/evaluation/executors/test_identity.py README.md docs

# the source archive, unpacked by itself, passes the fast ones of its own tests
sdist-test: setup
	rm -rf build/sdist && mkdir -p build/sdist
	$(BIN)/python -c "from hatchling.build import build_sdist; build_sdist('build/sdist')"
	tar -xzf build/sdist/*.tar.gz -C build/sdist --strip-components=1
	cd build/sdist && export PYTHONPATH=$(abspath build/sdist/src) \
		&& $(abspath $(BIN))/python -c "import szoht, sys; sys.exit('build/sdist/src' not in szoht.__file__)" \
		&& $(abspath $(BIN))/python $(PYTEST) --quick

# another Python, PYTHON2=python3.13 for instance; its environment lacks the largest packages
$(VENV)-other/.ready: pyproject.toml
	$(PYTHON2) -m venv --clear $(VENV)-other
	$(VENV)-other/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-other/bin/python -m pip install --quiet --editable ".[test]"
	touch $@

setup-other-python: $(VENV)-other/.ready

test-other-python: setup-other-python
	$(VENV)-other/bin/python $(PYTEST) --quick

test-statistical: setup
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -m "statistical or hypothesis"

BENCHMARKS := core ledger generators solver_time variance_reduced zoro huge executors run_store attack structures simulators calibration

# all of them run; one that crashes or misses its limit makes the target fail in the end
bench: setup
	@failed=; for name in $(BENCHMARKS); do \
		echo "== $$name"; $(BIN)/python benchmarks/$$name.py || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "crashed or missed a limit:$$failed"; exit 1; }

# the peers bring heavy dependencies, so they live in an environment of their own
$(VENV)-peers/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-peers/bin/python -m pip install --quiet --editable ".[bench]"
	touch $@

bench-peers: $(VENV)-peers/.ready
	$(VENV)-peers/bin/python benchmarks/peers/run.py --out out/peers

clean:
	rm -rf $(VENV) $(VENV)-other $(VENV)-peers out build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
