# Two commands on a fresh machine: `make demo` and `make test`. Both set up first.

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
SOURCES := src tests bench

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-all bench fix lock

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# Only what the program needs; `make demo` stops here.
.venv/runtime: requirements/runtime.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements/runtime.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

.venv/dev: .venv/runtime requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	touch $@

.venv/bench: .venv/dev requirements/bench.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	touch $@

setup: .venv/dev ## virtual environment with everything, at locked versions

demo: .venv/runtime ## watch the main job work on an embedded PostgreSQL (under a minute)
	$(BIN)/cronledger demo

check: .venv/dev ## what CI runs first: lint, types, layers, sizes, generated files
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n $(JOBS) -m "not slow" tests/repo tests/observe

test: .venv/dev ## the tests; sweeps of over a minute are sampled
	$(BIN)/pytest -n $(JOBS) -m "not slow"

test-all: .venv/dev ## every test, sweeps included
	$(BIN)/pytest -n $(JOBS)

bench: .venv/bench ## ratios against peers, one run
	for file in $(filter-out bench/peers.py bench/job_peers.py bench/job_stress.py bench/reconcile_data.py bench/reconcile_forms.py bench/scrape_data.py,$(wildcard bench/*.py)); do $(BIN)/python $$file || exit 1; done

fix: .venv/dev ## format, and mend what can be mended by machine
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lock: .venv/dev ## compile the locked versions anew from pyproject.toml
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --extra embedded \
	  -o requirements/runtime.txt pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --extra embedded --extra holidays --extra web --extra otel --extra dev \
	  -c requirements/runtime.txt -o requirements/dev.txt pyproject.toml
