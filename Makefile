# The two commands of the README: `make serve` and `make test`. Each sets up what it needs in .venv.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# Many tests wait for a disk or a process: on 2 cores two workers more save two minutes.
PYTEST_WORKERS ?= 4

# Tests start hundreds of processes: without compiled files each of them compiles all of src.
export PYTHONDONTWRITEBYTECODE :=

# Every opened store flushes some forty times. In memory that is free, and a busy disk makes no test late; killed
# processes lose nothing there either. `make torture` uses the disk, and so does TEST_TMP=/tmp.
TEST_TMP ?= $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] 2>/dev/null && echo /dev/shm || echo $${TMPDIR:-/tmp})

# What pyproject.toml names as supported; `make test-pythons` runs those that this machine has.
PYTHONS ?= 3.11 3.12 3.13

.PHONY: serve test tests-live test-pythons lint types imports pages tests docs golden bench coverage torture soak torture-tests conformance wheel-test docs-site test-web test-unprivileged clean

# A trial in the checkout keeps its own folder; an installed Lithos keeps ~/lithos.
serve: $(VENV)/.installed
	$(BIN)/lithos serve --transport http --data-dir ./data

# The tests show their progress; beside them run the checks and the page, one after another. Each prints when it ends,
# so that the last line is the count of the tests.
test: $(VENV)/.test-installed
	@$(MAKE) --no-print-directory -j2 --output-sync=target tests-live lint types imports pages

tests-live:
	+@$(MAKE) --no-print-directory --output-sync=none tests

lint: $(VENV)/.test-installed
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts

types: $(VENV)/.test-installed
	$(BIN)/mypy

imports: $(VENV)/.test-installed
	$(BIN)/lint-imports

tests: $(VENV)/.test-installed
	TMPDIR=$(TEST_TMP) $(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal -m "not torture and not web" --hypothesis-profile repeatable

# The page in a browser, in processes of its own: Playwright keeps an event loop that asyncio.run refuses beside it.
# `make test-web` requires a Chromium.
CHROMIUM = $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
PAGES = TMPDIR=$(TEST_TMP) $(BIN)/pytest tests/web -m web -n 2 --dist loadfile

pages: $(VENV)/.test-installed
	@if [ -n "$(CHROMIUM)" ]; then echo '$(PAGES)'; $(PAGES); \
	else echo "no Chromium: the page is not tested in a browser; make test-web says how to install one"; fi

test-web: $(VENV)/.test-installed
	@[ -n "$(CHROMIUM)" ] || { \
	  echo "no Chromium was found. Install one: apt-get install chromium (Debian), apk add chromium (Alpine), brew install --cask chromium (macOS)"; exit 1; }
	LITHOS_TEST_WEB=required $(PAGES)

# The suite under every supported Python that is installed, each in a venv of its own.
test-pythons:
	@found=; for version in $(PYTHONS); do \
	  python=; for candidate in $$(command -v python$$version) $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python; do \
	    if [ -z "$$python" ] && "$$candidate" -c '' 2>/dev/null; then python=$$candidate; fi; \
	  done; \
	  if [ -z "$$python" ]; then echo "== Python $$version is not installed: skipped"; continue; fi; \
	  echo "== Python $$version: $$python"; found=1; \
	  $(MAKE) --no-print-directory tests VENV=.venv-$$version PYTHON="$$python" || exit 1; \
	done; \
	if [ -z "$$found" ]; then echo "none of these Pythons is installed: $(PYTHONS)"; exit 1; fi

torture: $(VENV)/.test-installed
	$(BIN)/python -m tests.torture

# An hour of a steady load: memory, descriptors and threads stay (MINUTES=n).
soak: $(VENV)/.test-installed
	$(BIN)/python -m tests.torture.soak

# The long tests that are marked: fuzzing, fights over files, kills inside single steps.
torture-tests: $(VENV)/.test-installed
	$(BIN)/pytest -m torture --timeout 3600

# Which lines of storage, ledger, notes and board no test runs; a report, no gate.
coverage: $(VENV)/.test-installed
	$(BIN)/coverage run --source=src/lithos/storage,src/lithos/ledger,src/lithos/notes,src/lithos/board -m pytest -m "not torture and not web" --hypothesis-profile repeatable
	$(BIN)/coverage report --skip-covered --show-missing

bench: $(VENV)/.test-installed
	$(BIN)/python -m benchmarks

# The pages as a site that needs no network: open site/index.html.
docs-site: $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html; with its search: python3 -m http.server -d site"

# The workshop's tests as a user without rights, where the suite itself runs as root (ARGS: of pytest).
test-unprivileged: $(VENV)/.test-installed
	TMPDIR=$(TEST_TMP) $(BIN)/python scripts/unprivileged.py $(ARGS)

# The wheel from pip, pipx, uvx and uv, each in an empty home.
wheel-test: $(VENV)/.installed
	$(BIN)/python scripts/wheel_test.py

conformance: $(VENV)/.test-installed
	$(BIN)/python scripts/conformance.py

# Pages and golden files that are made from the code; a test fails when they are not current.
docs golden: $(VENV)/.test-installed
	$(BIN)/python scripts/generate.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Lithos into $(VENV): about 400 MB, a minute or two, once."
	$(BIN)/pip install --disable-pip-version-check -e .
	touch $@

$(VENV)/.test-installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Lithos and its test tools into $(VENV): a few minutes, once."
	$(BIN)/pip install --disable-pip-version-check -e '.[test]'
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) .venv-3.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
