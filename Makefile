# The two commands of the README: `make serve` and `make test`. Each sets up what it needs in .venv.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# Many tests wait for a disk or a process: on 2 cores a third worker saves a minute.
PYTEST_WORKERS ?= 3

.PHONY: serve test lint types imports tests docs golden bench torture conformance clean

serve: $(VENV)/.installed
	$(BIN)/lithos serve --transport http --data-dir ./data

test: lint types imports tests

lint: $(VENV)/.test-installed
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts

types: $(VENV)/.test-installed
	$(BIN)/mypy

imports: $(VENV)/.test-installed
	$(BIN)/lint-imports

tests: $(VENV)/.test-installed
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal -m "not torture" --hypothesis-profile repeatable

torture: $(VENV)/.test-installed
	$(BIN)/pytest -m torture --timeout 3600

bench: $(VENV)/.test-installed
	$(BIN)/python -m benchmarks

conformance: $(VENV)/.test-installed
	$(BIN)/python scripts/conformance.py

# Pages and golden files that are made from the code; a test fails when they are not current.
docs golden: $(VENV)/.test-installed
	$(BIN)/python scripts/generate.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.test-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
