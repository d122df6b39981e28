# The verbs of daily work. Everything runs in .venv, which the first of them makes with all extras.
SHELL := /bin/bash
# Blender's module exists for these two. Where neither is there, uv fetches one.
PYTHON ?= $(shell for name in python3.13 python3.11; do $$name -c "" 2>/dev/null && command -v $$name && break; done)
BIN := .venv/bin
DEMO := demo
# Training seeds of the demo, such as SEEDS="0 1 2".
SEEDS := 0
# The folder of a board: submissions, questions, receipts and challenges.
BOARD := results/jackalope-1

.PHONY: demo test test-full lint docs leaderboard bench clean

demo: .venv/run  ## Render a rotation, verify it, train a small model for each turn and each of SEEDS, score and report.
	$(BIN)/gen render --holdout turns=4 --scenes train=4000,val=120,partial=240,unseen=480 --resolution 64x64 --quality draft --out $(DEMO)/world
	$(BIN)/gen verify $(DEMO)/world
	$(BIN)/gen preview $(DEMO)/world --benchmark turn0 --out $(DEMO)/preview.png
	rm -rf $(DEMO)/models* $(DEMO)/runs*
	for seed in $(SEEDS); do $(BIN)/score train scratch $(DEMO)/world --turns --epochs 12 --seed $$seed --out $(DEMO)/models$$seed && $(BIN)/score run $(DEMO)/world --model "jackalope:$(DEMO)/models$$seed/{turn}" --out $(DEMO)/runs$$seed --json >/dev/null || exit; done
	$(BIN)/score report $(SEEDS:%=$(DEMO)/runs%/turn*) --out $(DEMO)/report.html

test: .venv/dev  ## Every test that CI runs.
	$(BIN)/pytest -n 2 --dist worksteal -m "not full"

test-full: .venv/dev  ## Every test.
	$(BIN)/pytest -n 2 --dist worksteal

lint: .venv/dev  ## Style, types, and which folder may import which.
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

docs: .venv/dev  ## The documentation as a site, in site/html.
	$(BIN)/python docs/make_site.py

leaderboard: .venv/run  ## The leaderboard of BOARD as a site, in site/leaderboard.
	$(BIN)/score leaderboard $(BOARD) --out site/leaderboard

bench: .venv/dev  ## Speed and memory of rendering, planning, verifying and scoring.
	$(BIN)/python -m bench

clean:  ## Remove what the verbs made.
	rm -rf .venv $(DEMO) runs dist site

.venv/bin/uv:
ifeq ($(PYTHON),)
	@python3 -m venv .venv/fetch && .venv/fetch/bin/pip install -qq uv && .venv/fetch/bin/uv venv --quiet --seed --allow-existing --python 3.13 .venv
else
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 13)))' || { echo "Jackalope's demo and tests need Python 3.11 or 3.13 (Blender's module exists for them); set PYTHON=/path/to/python3.13." >&2; exit 2; }
	@$(PYTHON) -m venv .venv || { echo "Cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
endif
	@.venv/bin/pip install -qq uv

# pip knows mirrors that its own configuration names, which uv does not read.
.venv/run: pyproject.toml .venv/bin/uv
	@echo "Installing everything into .venv: 7 GB, which take a minute or a few." >&2
	@.venv/bin/uv pip install --quiet --python .venv/bin/python --editable '.[all]' || .venv/bin/pip install --quiet --editable '.[all]'
	@touch $@

.venv/dev: pyproject.toml .venv/bin/uv
	@echo "Installing everything into .venv, with the tools of the tests: 7 GB, which take a minute or a few." >&2
	@.venv/bin/uv pip install --quiet --python .venv/bin/python --editable '.[dev]' || .venv/bin/pip install --quiet --editable '.[dev]'
	@touch .venv/run $@
