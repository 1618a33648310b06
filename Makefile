# `make run` sets everything up and starts the app; `make test` sets everything up and passes the tests.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
ADDRESS ?= 127.0.0.1
MINUTES ?= 30
# Every test that starts a process would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -q
FAST := not real_model and not browser and not slow
# Of the fast tests, by their time.
FIRST_HALF := tests/pages tests/lessons tests/quizzes
AVX2 := env ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2
SIDE_BY_SIDE := $(BIN)/python -m tests.side_by_side

.PHONY: run test test-avx2 check bench soak setup setup-dev weights browser format

run: setup
	-@$(BIN)/python -m inference.weights # without a model the app still plays its recordings, and says why
	$(BIN)/python -m streamlit run app.py --server.port $(PORT) --server.address $(ADDRESS)

test: setup-dev weights browser check
	@$(SIDE_BY_SIDE) browser "$(PYTEST) -m browser" model "nice $(PYTEST) -m '(real_model or slow) and not browser'"
	@$(MAKE) --no-print-directory test-avx2

# What measures the machine, once more as on a CPU without AVX-512 and AMX: there bfloat16 is slow.
test-avx2: setup-dev weights
	$(AVX2) $(PYTEST) -m measures

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(SIDE_BY_SIDE) types $(BIN)/mypy pages "$(PYTEST) -m '$(FAST)' $(FIRST_HALF)" \
	  others "$(PYTEST) -m '$(FAST)' $(FIRST_HALF:%=--ignore %) --ignore tests/browser"

bench: setup-dev weights browser
	$(BIN)/python -m benchmarks

# A class for half an hour, while the engine is killed three times; MINUTES=5 is enough for a look.
soak: setup-dev weights
	$(BIN)/python -m benchmarks.learners.soak $(MINUTES)

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "No virtual environment could be made; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/.installed

weights: setup-dev
	@env -u TWOPHASES_MODEL $(BIN)/python -m inference.weights

# Debian and Ubuntu's chromium, or any Chromium or Chrome there is; elsewhere Playwright's own build.
browser: setup-dev
	@$(BIN)/python -m tests.browser.chromium --install
