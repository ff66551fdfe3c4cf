# Everything that a clone needs: Python 3.11 or newer, pip, venv, make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# Three processes on two cores, since real fleets and pages mostly wait; one that has nothing left to do takes tests from
# the others, so that no long one is left to the end.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal
# One thread per process: tests and workers share few cores.
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
# Python keeps what it has compiled, also where the environment says no: a process that must compile torch and Flower
# first takes three times as long to start, and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install flower demo test check golden mutants bare bench format clean

help:           ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python is too old, $$($(PYTHON) --version): need 3.11 or newer; do: make PYTHON=python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# What the kernel is built from: a change installs it anew.
NATIVE := hatch_build.py $(wildcard src/fedclade/client/native/*.[ch]) src/fedclade/client/native/build.py

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt $(NATIVE)
	@echo "installing fedclade and what it needs (torch is large: a minute or more) ..."
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing Flower, UMAP, MLflow and the tools for tests ..."
	$(PIP) -e ".[dev,flower,umap,track]"
	@touch $@

$(VENV)/.flower: $(VENV)/.core
	@echo "installing Flower (with Ray, 430 MB) ..."
	$(PIP) -e ".[flower]"
	@touch $@

install: $(VENV)/.core  ## a virtual environment in .venv with fedclade in it

flower: $(VENV)/.flower ## the same with Flower, for `engine.name = "flower"` and `fedclade deploy`

demo: install           ## one minute, no network: real digits, four hidden groups
	$(BIN)/fedclade demo

test: $(VENV)/.dev      ## format, lint, types and all tests but the mutants
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(PYTEST) -m "not mutant"

check: $(VENV)/.dev     ## the same with the fast tests only: under two minutes
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(PYTEST) -q -m "not slow"

golden: $(VENV)/.dev    ## what every method does, to the bit, against tests/golden/golden.json: minutes
	$(BIN)/python tests/golden/compare.py

mutants: $(VENV)/.dev   ## published defects, put into a copy of fedclade: for each, some test must fail
	$(PYTEST) -q -m mutant tests/mutants

# Flower holds back typer, rich, starlette and uvicorn (typer < 0.21, rich < 15, starlette < 1.4, uvicorn < 0.50), which
# only the command line and the dashboard import: their tests run with the newest releases too. And everything else but
# the rooms for Flower must load and train where Flower is not. A virtual environment that has Flower is no use here.
BARE := tests/cli tests/dashboard tests/runs/test_backend.py tests/test_without_flower.py
bare: $(VENV)/.core     ## before Flower is installed: what its version caps touch, with the newest releases
	@! $(BIN)/python -c 'import flwr' 2> /dev/null || \
	  { echo "error: Flower is installed in $(VENV); do: make VENV=.venv-bare bare" >&2; exit 2; }
	$(PIP) pytest pytest-xdist pytest-timeout hypothesis pandas
	$(PYTEST) -q -m "not slow" $(BARE)

bench: install          ## how fast this machine is, in about a minute; the rest: fedclade bench --help
	$(BIN)/fedclade bench --quick

format: $(VENV)/.dev    ## rewrite the sources in the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:                  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
