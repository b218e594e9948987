# The commands for users and developers. A target that needs .venv makes it first.
PYTHON ?= python3
# The sample bot in JavaScript needs node.
NODE := $(shell command -v node)
# Checks the types of the pages' scripts: npm install --global typescript@5.
TSC := $(shell command -v tsc)
# The strategist would take most of a run's time: BOTS="sample_bots/*.py" plays it too.
BOTS ?= $(filter-out %/strategist.py,$(wildcard sample_bots/*.py)) $(if $(NODE),sample_bots/*.js)
ARGS ?=
LADDER ?= spring
# One more than the cores, because some tests wait.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
VENV := .venv
BIN := $(VENV)/bin
# With it, each of the tests' thousand processes would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
# tests/conftest.py decides which tests stay in one process, so --dist would have no effect.
PARALLEL = -n $(WORKERS) --no-loadscope-reorder
# Selected by name, because collecting all tests takes five seconds.
CLOCKED = $(shell grep -rlw --include='test_*.py' 'mark.clock' tests)
QUICK := tests/coup tests/conformance tests/protocol tests/schedule tests/rating tests/run/test_standings.py
QUICK += tests/test_docs.py tests/test_boundaries.py tests/test_style.py

# The modules that `make compiled` has made, which are compiled again after an edit.
COMPILED := $(wildcard .compiled)
COMPILED_MODULES := $(wildcard *.so arena/*/*.so arena/*/*/*.so protocol/*.so protocol/*/*.so)

# A run whose results are compared. It uses the packages in the folder PYTHONPATH.
COMPARED_RUN = $(abspath $(BIN))/python -c 'from arena.cli import main; main()' run --seed 1 --games 96 \
  sample:honest sample:opportunist sample:turtle --out

.PHONY: run play ladder serve quick test test-all test-rest test-python test-compiled sanitized mutants attack setup check lint package wheel compiled notes coverage bench docs gauntlet puzzles site playground soak format clean

# $(call tests,SELECTION) runs tests in several processes. Exit status 5 means that none was selected.
tests = $(PYTEST) $(PARALLEL) -m "$(1)" $(ARGS) || [ $$? = 5 ]

# Plays the sample bots (or BOTS="mybot.py sample_bots/*.py") for about five seconds; other flags in ARGS="--games 600".
run: $(VENV)/.run $(COMPILED)
	$(if $(COMPILED),,@echo "The referee isn't compiled: make compiled makes it faster." >&2)
	$(if $(NODE),,@echo "node isn't installed: sample_bots/honest.js is left out" >&2)
	$(BIN)/arena run $(or $(ARGS),--games 192) $(BOTS)

# Opens a table with sample bots in the browser, for this machine alone; more flags in ARGS="--games 3 --rules treason-site".
play: $(VENV)/.web $(COMPILED)
	$(BIN)/arena play --browser $(ARGS)

# Creates a ladder of the sample bots in the folder LADDER if it has none. --sandbox process is for trusted bots, such as these.
define begin_ladder
test -f $(LADDER)/ladder.toml || { $(BIN)/arena ladder init $(LADDER) --rules coup --sandbox process && \
  for bot in $(BOTS); do \
    name=my_$$(basename $$bot | tr . _); \
    $(BIN)/arena ladder users add $(LADDER) owner_of_$$name && \
    $(BIN)/arena ladder submit $(LADDER) $$bot --owner owner_of_$$name --name $$name || exit; \
  done; }
endef

# Plays 24 matches on a ladder of the sample bots, and prints the standings.
ladder: $(VENV)/.ladder $(COMPILED)
	$(begin_ladder)
	$(BIN)/arena ladder run $(LADDER) --until idle
	$(BIN)/arena ladder run $(LADDER) --matches 24
	$(BIN)/arena ladder standings $(LADDER)

# Serves the pages of the same ladder, with a runner, until Ctrl-C; more flags in ARGS="--port 9000".
serve: $(VENV)/.web $(COMPILED)
	$(begin_ladder)
	$(BIN)/arena ladder serve $(LADDER) $(ARGS)

# Adds puzzles to arena/lessons/puzzles.json until it has NUMBER; each takes seconds to minutes.
NUMBER ?= 150
puzzles: $(VENV)/.dev
	nice -n 19 $(BIN)/python -m tests.bench.make_puzzles $(NUMBER)

# Tests rules, protocol, schedule, rating, documents and packages in half a minute on two cores.
quick: $(VENV)/.dev
	$(PYTEST) $(PARALLEL) -m "not boxes and not clock and not long" $(QUICK) $(ARGS)

# Tests what differs first on another Python, with pytest and few packages: PYTHON=python3.14 VENV=/tmp/python3.14.
test-python: $(VENV)/.test
	$(PYTEST) $(PARALLEL) -m "not boxes and not clock and not long" $(filter-out %.py,$(QUICK)) tests/referee tests/bots tests/local $(ARGS)

# Tests every package with Python and node alone, in three minutes on two cores.
test: $(VENV)/.dev
	$(call tests,not boxes and not long and not clock)

# Runs all other tests: those of test-rest, and of the compiled referee.
test-all: test-compiled test-rest

# Runs the tests of compilers, browsers, PostgreSQL, Dask, boxes, kills and clocks, which wait half of their time. With the
# ledger ARENA_PASSED it also runs those of `make test` that haven't passed.
test-rest: WORKERS = $(shell expr $$(nproc 2>/dev/null || echo 2) \* 3)
test-rest: $(VENV)/.dev
	$(call tests,$(if $(ARENA_PASSED),,(boxes or long) and )not clock and not soak)
	$(PYTEST) -m clock $(CLOCKED) $(ARGS) || [ $$? = 5 ]  # alone: they measure time

# Tries the compiled wheel in a fresh environment, then tests the compiled modules in a copy of the tree that has them, and
# compares the results of a run with those of the uncompiled arena.
test-compiled: $(VENV)/.dev dist/.wheel
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(PYTHON) -m venv --without-pip "$$folder/venv" && \
	$(PIP) --python "$$folder/venv/bin/python" install --no-compile -c constraints.txt "$$(ls -t dist/*-cp*.whl | head -1)" && \
	PATH="$$folder/venv/bin:$$PATH" .ci/use && \
	$(BIN)/python -m zipfile -e "$$(ls -t dist/*-cp*.whl | head -1)" "$$folder" && \
	git ls-files -z | xargs -0 cp --parents --target-directory "$$folder" && \
	cd "$$folder" && PYTHONPATH="$$folder" $(abspath $(BIN))/python -m pytest $(PARALLEL) -m "not boxes and not clock and not long" \
	  tests/coup tests/conformance tests/oracle tests/referee tests/env \
	  tests/protocol/test_event_text.py tests/protocol/test_framing.py tests/protocol/test_records.py $(ARGS) && \
	$(MAKE) --no-print-directory -C $(CURDIR) sanitized FOLDER="$$folder" && \
	PYTHONPATH="$$folder" $(COMPARED_RUN) "$$folder/compiled" && \
	cd $(CURDIR) && PYTHONPATH=$(CURDIR) $(COMPARED_RUN) "$$folder/pure" && \
	cmp "$$folder/compiled/results.jsonl" "$$folder/pure/results.jsonl"

# Tests the games in C in FOLDER, a copy of the tree with compiled modules, with sanitizers of addresses and undefined behaviour.
sanitized:
	test -n "$(FOLDER)" && cd "$(FOLDER)" && cp arena/env/_games*.so _games.kept && \
	gcc -g -O1 -std=c11 -Wall -Wextra -Werror -Wno-cast-function-type -fsanitize=address,undefined -fno-sanitize-recover=all -fPIC -shared \
	  -I "$$($(abspath $(BIN))/python -c 'import sysconfig; print(sysconfig.get_path("include"))')" arena/env/c/*.c -o arena/env/_games*.so && \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 ARENA_REQUIRE=compiled \
	  PYTHONPATH="$(FOLDER)" $(abspath $(BIN))/python -m pytest tests/env/test_batches.py && \
	mv _games.kept arena/env/_games*.so

# Changes 60 small things, one at a time, and prints those that no test of `make test` notices; ARGS="--seed 7 --module clock".
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants $(ARGS)

# Runs all known attacks in the sandboxes that work here, or in one (BOX=docker), and prints the results: about ten minutes.
attack: $(VENV)/.dev
	$(BIN)/python -m tests.red_team $(if $(BOX),--box $(BOX))

setup: $(VENV)/.run

# In the order in which failures are likely.
check: lint quick test

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(if $(TSC),$(TSC) -p tests/replay/jsconfig.json,@echo "tsc isn't installed: the types of scripts aren't checked" >&2)

# Builds a source distribution and the pure wheel in dist/, and tries the wheel in a fresh environment.
package:
	PYTHON=$(PYTHON) .ci/wheel

# Builds a wheel in dist/ for this Python and platform, whose compiled referee takes two thirds of the CPU. Needs a C compiler.
wheel: dist/.wheel

dist/.wheel: hatch_build.py pyproject.toml $(shell git ls-files '*.py' '*.[ch]' ':!tests' 2>/dev/null) | $(VENV)/.run
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 $(PIP) wheel --no-deps --wheel-dir dist .
	@touch $@

# Compiles the same modules in this clone, next to the sources; `make clean` removes them.
compiled: .compiled

.compiled: hatch_build.py $(foreach folder,$(shell cat .compiled 2>/dev/null),$(wildcard $(folder)/*.py $(folder)/*.[ch])) | $(VENV)/.run
	rm -f $@ $(COMPILED_MODULES)
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 $(PIP) install --no-deps -e .

# Prints the entry of this version in CHANGELOG.md, for its release; LINKS=ADDRESS/ makes relative links absolute.
notes:
	@sed -n "/^## $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' arena/__init__.py) /,/^## /p" CHANGELOG.md | sed '1d;$$d;s#](\([^:)]*)\)#]($(LINKS)\1#g'

# Prints which lines `make quick` runs, also in child processes; ARGS="tests/referee tests/run" adds tests.
# Code in other environments or namespaces isn't measured. Measuring makes five tests of full disks and ends of processes fail.
coverage: $(VENV)/.dev
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest $(PARALLEL) -m "not boxes and not clock and not long" $(QUICK) $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort cover

# Prints the tables of docs/explanation/benchmarks.md; WRITE=1 replaces them. Then compares CPU time in pairs with HEAD if files
# differ from it, else with HEAD~1, next to the noise of the same minutes (A/A): five minutes more. The pairs need git.
bench: $(VENV)/.dev
	$(BIN)/python -m tests.bench --rounds 3 $(if $(WRITE),--write)
	-$(BIN)/python -m tests.bench pairs --pairs 3 engine referee-c start-kit command run

# Plays the sample bots against each other in five to ten minutes. WRITE=1 writes the table into docs/explanation/sample-bots.md.
gauntlet: $(VENV)/.dev
	$(BIN)/python -m tests.bench.gauntlet $(if $(WRITE),--write)

# Writes the generated pages of docs/reference (commands, settings, JSON, HTTP API, metrics) and the version in all documents.
docs: $(VENV)/.dev
	PYTHONPATH=. $(BIN)/python docs/generate.py

# Builds the documents as pages in build/site; a warning, such as a broken link, is an error.
site: $(VENV)/.docs
	rm -rf build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --fresh-env --conf-dir docs --doctree-dir build/doctrees . build/site

# Builds the playground as static files in build/playground; try it with python -m http.server --directory build/playground.
PLAYGROUND := build/playground
playground: $(VENV)/.run
	$(BIN)/python -m arena.playground.build $(PLAYGROUND)

# Compares 100,000 random games with a second implementation of the rules, and as many in C with those in Python, for which
# `make compiled` comes first: about half an hour on two cores. It also simulates 2,000 studies of language models, plays all
# sample bots in all seats of all presets, and repeats journeys of `make test-rest` (docs/dev/testing.md).
soak: $(VENV)/.dev
	ARENA_SOAK=1 $(call tests,soak)
	ARENA_SOAK=1 $(PYTEST) $(PARALLEL) -m "not soak" tests/sample_bots/test_presets.py tests/run/test_crashes.py tests/ladder/test_kills.py tests/study/test_study.py
	ARENA_SOAK=100000 ARENA_REQUIRE=compiled $(PYTEST) --timeout 0 $(PARALLEL) tests/env/test_batches.py -k lock_step --no-header
	seq 0 7 | ARENA_SOAK=100000 xargs -P $(shell nproc 2>/dev/null || echo 2) -I{} \
	  $(PYTEST) --timeout 0 tests/oracle -k 'agree and [{}]' --no-header
	$(BIN)/python -m tests.study.simulation 2000

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist *.egg-info .compiled $(COMPILED_MODULES)

$(VENV)/.run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.ladder: $(VENV)/.run
	$(PIP) install -c constraints.txt -e '.[ladder]'
	@touch $@

$(VENV)/.web: $(VENV)/.run
	$(PIP) install -c constraints.txt -e '.[web]'
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) install -c constraints.txt -e '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(addprefix $(VENV)/.,ladder web docs test)  # it has theirs
