# make demo     everything once, on this machine: environment, model, preparation, lm_eval run, comparison, report
# make test     the whole test suite; test-fast leaves out what starts lm_eval or a model
# make lint     style, types and spelling, as CI runs them
# make bench    performance tables, one per script in benchmarks/; more than an hour

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
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

.PHONY: help setup demo test test-fast test-browser lint bench clean

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
	$(OFFLINE) $(PYTEST) -m "not browser"

test-fast: setup
	$(OFFLINE) $(PYTEST) -m "not browser and not slow"

test-browser: setup
	$(OFFLINE) $(PYTEST) -m browser

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy environment prepare_eval.py
	$(BIN)/typos
	$(BIN)/python -m tests.rooms

bench: setup
	@missed=; for script in benchmarks/*.py; do name=$$(basename "$$script" .py); echo "== $$name"; \
	$(OFFLINE) $(BIN)/python -m "benchmarks.$$name" || missed="$$missed $$name"; done; \
	test -z "$$missed" || { echo "outside their bars:$$missed"; exit 1; }

clean:
	rm -rf work_dir build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
