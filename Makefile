# Every target sets up what it needs by itself; the first one takes a minute, later ones start at once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.headrace-setup
ARGS   ?=

.PHONY: help setup demo test lint bench conformance docs screenshots fuzz lock clean

help:            ## show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 20

setup: $(STAMP)  ## a virtual environment in .venv with everything pinned in requirements.lock

$(STAMP): pyproject.toml requirements.lock
	@echo "Setting up $(VENV) (first time: about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@if command -v uv >/dev/null 2>&1; then UV=uv; else $(BIN)/python -m pip install --quiet --disable-pip-version-check uv && UV=$(BIN)/uv; fi; \
	 $$UV pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock && \
	 $$UV pip install --quiet --python $(BIN)/python --no-deps --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

demo: setup      ## the emergency centre of a country: broker, pipelines on Spark, alerts (ARGS="--seconds 120 --score")
	$(BIN)/headrace setup
	$(BIN)/headrace demo $(ARGS)

test: lint       ## the tests that end within minutes
	-$(BIN)/headrace setup
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup $(ARGS)

lint: setup      ## ruff, mypy, import-linter
	$(BIN)/ruff check src tests bench conformance
	$(BIN)/ruff format --check src tests bench conformance
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: setup     ## Headrace and Apache Kafka side by side, as ratios (QUICK=1 for the short one)
	$(BIN)/python -m bench $(if $(QUICK),--quick) $(ARGS)

conformance: setup  ## the suites of other projects and everything that needs Apache Kafka; resumable
	$(BIN)/python -m conformance $(ARGS)

screenshots: setup  ## pictures of every page of the console, in both themes, into docs/images/console/
	$(BIN)/python -m tests.console.screenshots $(ARGS)

fuzz: setup      ## a coverage-guided run against the wire decoder (SECONDS=60)
	$(BIN)/python tests/wire/fuzz.py $(ARGS)

docs: setup      ## the documentation, into site/
	$(BIN)/python -m headrace.cli.reference docs/reference
	$(BIN)/mkdocs build --strict

lock:            ## resolve pyproject.toml anew into requirements.lock
	uv pip compile --quiet --upgrade --generate-hashes --no-annotate --no-header --no-emit-index-url --universal --python-version 3.11 --extra all --group dev --group fuzz pyproject.toml -o requirements.lock

clean:           ## remove what the other targets made
	rm -rf $(VENV) .cache site dist
