# Everything here works on a fresh machine with Python 3.11, git and make; every target may be run twice.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LIVE := tests/orchestration/live
RIGHT_PYTHON := import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] < (3, 14) else "Python 3.11 to 3.13 is needed; name one with make PYTHON=...")
# what pip does, without the hundred lines in which nothing happens
PIP_NEWS := sed -u -n -E 's/^ *(Downloading .*[0-9]{2}(\.[0-9]+)? [MG]B\))$$/\1/p; s/^(Installing collected packages).*/\1 .../p'
# names and what they do in two columns, the first as wide as the longest name
ALIGNED := {name[NR] = $$1; text[NR] = $$2; if (length($$1) > wide) wide = length($$1)} \
	END {for (i = 1; i <= NR; i++) printf "  make %-" wide "s  %s\n", name[i], text[i]}

.PHONY: help setup run test test-long test-live lint ui bench

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '$(ALIGNED)'

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV), once: a few minutes, most of them for what pip downloads"
	@$(PYTHON) -c '$(RIGHT_PYTHON)'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev,docs]' | $(PIP_NEWS)
	@touch $(READY)

setup: $(READY) ## Make the environment, nothing else

run: $(READY) ## Run the main job on the demo (and on THETAHOUSE_DATA where it is set); print a summary
	$(BIN)/thetahouse run

test: $(READY) ## Run the tests
	$(BIN)/python -m pytest -n 2 -m 'not slow and not vllm'

test-long: $(READY) ## Run the long kill, fuzz and simulation tests
	$(BIN)/python -m pytest -n 2 -m 'slow and not vllm' --ignore=$(LIVE) $(SLOW_TESTS)

# one at a time: they watch clocks and kill processes
test-live: $(READY) ## Run the tests of a running control room: daemon, browser (chromium), chaos
	$(BIN)/python -m pytest -m 'slow and not vllm' $(LIVE)

lint: $(READY) ## Check style, types and SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check orchestration tests/orchestration
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --dialect duckdb dbt_project/models

ui: $(READY) ## Open the control room: Dagster on http://127.0.0.1:3000
	$(BIN)/thetahouse ui

bench: $(READY) ## Measure the runs (seconds, memory) and the estimators (beside other packages)
	$(BIN)/python benchmarks/runs.py
	$(BIN)/python benchmarks/psychometrics.py

-include make/*.mk
