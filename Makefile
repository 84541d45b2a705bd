# make demo      everything once, on this machine: environment, model, preparation, lm_eval run, comparison, report
# make test      the test suite of every room, and one whole way on a real model; some minutes
# make test-all  every test: those that start engines, long property tests, the browser
# make lint      style, types and spelling, as CI runs them
# make faults    attacks: kills, full disks, links, malformed files, hostile folders; prints its table and time
# make docs      the documentation as a site with search, in site/; its builder is installed into .venv-docs
# make bench     speed against peers, one table per script in benchmarks/; half an hour. bench-full adds the long ones

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SETUP_PYTHON ?= $(firstword $(shell command -v python3.11 python3 python))
BIN := .venv/bin
MODEL := models/SmolLM2-135M-Instruct
RUNS := eval_results
# Nothing here needs a model hub; a download that is tried all the same fails at once.
OFFLINE := HF_HUB_OFFLINE=1
# Processes that tests run in. A test that starts an engine takes several GB, so a larger machine does not get more of
# them by itself.
JOBS ?= 2
# The tests of one file stay in one process and share what they load. Bytecode is kept, also where the environment
# forbids it: the second of two runs collects the tests in half the time.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations=15

.PHONY: help setup demo test test-all test-rest test-long test-browser lint docs faults bench bench-full clean

help:
	@sed -n 's/^# make/make/p' Makefile

setup:
	@$(or $(SETUP_PYTHON),$(error no python3 on PATH: install Python 3.11)) -m environment.install

demo: setup
	$(BIN)/python -m environment.demo_model $(MODEL)
	$(OFFLINE) $(BIN)/python prepare_eval.py --set backend=$$($(SETUP_PYTHON) -m environment.install --backend)
	$(OFFLINE) PATH="$(CURDIR)/$(BIN):$$PATH" bash work_dir/command.sh
	@newest=$$(ls -t $(RUNS)/*/results_*.json | head -n 1); run=$$(dirname "$$newest"); \
	$(BIN)/python -m evalprep compare "$$run"; \
	$(BIN)/python -m evalprep report "$$run"

test: setup
	@started=$$(date +%s); $(OFFLINE) $(PYTEST) -m "not slow and not long and not browser"; \
	echo "make test: $$(( ($$(date +%s) - started + 59) / 60 )) minutes"

# What `make test` leaves out or does with few examples.
test-rest: setup
	EVALPREP_TESTS=full $(OFFLINE) $(PYTEST) -m "(slow or hypothesis or thorough) and not long and not browser"

# Every command of tables of which `make test` and CI try the usual ones, and starts of engines for what another start
# has shown.
test-long: setup
	EVALPREP_TESTS=full $(OFFLINE) $(PYTEST) -m "long and not browser"

test-all: test test-rest test-long test-browser

test-browser: setup
	$(OFFLINE) $(BIN)/python -m pytest --durations=15 -m browser

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy environment prepare_eval.py
	$(BIN)/typos
	$(BIN)/python -m tests.rooms

# Zensical: its makers maintain it, it needs nine packages, and it builds pages with search and dark mode offline. It has
# an environment of its own, so that no version of it meets those of evalprep.
.venv-docs/bin/zensical: environment/requirements-docs.txt
	@$(or $(SETUP_PYTHON),$(error no python3 on PATH: install Python 3.11)) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --requirement environment/requirements-docs.txt
	touch $@

docs: .venv-docs/bin/zensical
	.venv-docs/bin/zensical build --clean --strict
	@echo "the site: site/index.html"

faults: setup
	$(OFFLINE) $(BIN)/python -m benchmarks.faults

bench: setup
	$(OFFLINE) $(BIN)/python -m benchmarks

bench-full: setup
	$(OFFLINE) $(BIN)/python -m benchmarks --full

clean:
	rm -rf work_dir site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
