# One command for everything a user or a developer does. Each target makes .venv first where it needs it.
PYTHON ?= python3
BOTS ?= sample_bots/*.py sample_bots/*.js
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test setup check bench soak soak-boxes format clean

# Plays the sample bots (or BOTS="mybot.py sample_bots/*.py"); more flags in ARGS="--games 600".
run: $(VENV)/.run
	$(BIN)/arena run $(ARGS) $(BOTS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

setup: $(VENV)/.run

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(VENV)/.dev
	$(BIN)/python -m tests.bench

# 100,000 random games of the engine beside the second implementation of the rules: about twenty minutes on two cores.
soak: $(VENV)/.dev
	seq 0 7 | ARENA_SOAK=100000 xargs -P $(shell nproc 2>/dev/null || echo 2) -I{} \
	  $(BIN)/python -m pytest tests/oracle -k 'agree and [{}]' --no-header

# 1,000 matches in each box that works here, and what they leave: about half an hour.
soak-boxes: $(VENV)/.dev
	ARENA_SOAK_MATCHES=1000 $(BIN)/python -m pytest tests/run/test_soak.py --no-header

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/.run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
