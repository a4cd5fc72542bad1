.DEFAULT_GOAL := help
.PHONY: help setup demo test ci-long slow crash chaos model faults fuzz soak mutation golden golden-rc sdk-rc lint audit format bench bench-compare bench-keep docs pictures facts node-clients lock clean matrix

VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# The newest Python this machine has, from those the project supports; `make PYTHON=… setup` picks another.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
# Without it each of hundreds of processes would compile anew whatever it imports, the SDKs too.
unexport PYTHONDONTWRITEBYTECODE
# Three for two cores, at most eight: many tests wait for a process, but each worker first collects all tests.
PYTEST_WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n > 5 ? 8 : (3 * n + 1) / 2)))

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Create .venv with everything (done by the other targets by themselves)

$(READY): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found on PATH."; exit 1; }
	@echo "Setting up $(VENV) ($(PYTHON)) …"
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --clear --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -r requirements.lock && \
		uv pip install --quiet --python $(BIN)/python --no-deps -e . ; \
	else \
		$(PYTHON) -m venv --clear $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e . ; \
	fi
	@touch $(READY)

# $(call install_beside,DIRECTORY,PACKAGES): a .venv that uv made has no pip, but another Python's pip can install for it.
define install_beside
@if command -v uv >/dev/null 2>&1; then \
	uv pip install -q --python $(BIN)/python --target $(1) $(2); \
elif $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade --target $(1) $(2); \
elif $(PYTHON) -m pip --version >/dev/null 2>&1; then \
	$(PYTHON) -m pip --python $(BIN)/python install -q --disable-pip-version-check --upgrade --target $(1) $(2); \
else \
	echo "To install $(2), uv or pip is needed: put uv on PATH (https://docs.astral.sh/uv/), or run"; \
	echo "$(BIN)/python -m ensurepip, and make this again."; exit 1; \
fi
endef

demo: $(READY)  ## Watch the agent find, fix and test a bug, offline, over the real protocol
	@$(BIN)/hermes-acp demo

test: $(READY) lint  ## Everything that must hold: style, types, import rules, tests
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m "not slow and not long"

ci-long: $(READY)  ## The short forms of the long runs: crash, chaos, soak, fuzz, drill; CI runs them after `make test`
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m "long and not slow"

slow: $(READY)  ## The long runs whole, which neither `make test` nor CI runs
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m slow

CRASH_TURNS ?= 300
crash: $(READY)  ## Kill the agent in hundreds of turns, at any moment, and look what is left (CRASH_TURNS=N)
	@CRASH_TURNS=$(CRASH_TURNS) $(BIN)/python -m pytest tests/e2e/test_crash.py

CHAOS_CANCELS ?= 200
chaos: $(READY)  ## Cancel hundreds of turns in which everything happens at once, and look what is left (CHAOS_CANCELS=N)
	@CHAOS_CANCELS=$(CHAOS_CANCELS) $(BIN)/python -m pytest -m slow tests/e2e/test_chaos.py

MODEL_RUNS ?= 50
MODEL_STEPS ?= 60
model: $(READY)  ## Thousands of random steps with sessions, held against what they should be (MODEL_RUNS=N, MODEL_SEED=N)
	@MODEL_RUNS=$(MODEL_RUNS) MODEL_STEPS=$(MODEL_STEPS) $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal \
		-m slow tests/model

faults: $(READY)  ## Kill the agent at each named point, fail its disk, clock, database, servers (FAULTS_SEED=N)
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m "slow or long" tests/faults

FUZZ_LINES ?= 200000
fuzz: $(READY)  ## Send the agent hundreds of thousands of lines of any kind (FUZZ_LINES=N, FUZZ_SEED=N)
	@FUZZ_LINES=$(FUZZ_LINES) FUZZ_KEPT=$(or $(FUZZ_KEPT),build/fuzz) $(BIN)/python -m pytest -s -m slow tests/fuzz

MUTMUT := .cache/mutmut
$(MUTMUT)/mutmut/__init__.py: $(READY)
	$(call install_beside,$(MUTMUT),mutmut==3.8.1)
	@touch $@

MUTANTS ?=
mutation: $(MUTMUT)/mutmut/__init__.py  ## Change the pure modules in thousands of places; what does no test notice? (MUTANTS='tools.approval.*')
	@PYTHONPATH=$(abspath $(MUTMUT)) $(BIN)/python -m scripts.mutation $(MUTANTS)

SOAK_SECONDS ?= 1800
soak: $(READY)  ## Half an hour of 32 sessions at work: nothing may grow (SOAK_SECONDS=N, SOAK_SEED=N, SOAK_FIGURES=FILE)
	@SOAK_SECONDS=$(SOAK_SECONDS) $(BIN)/python -m pytest -m slow tests/soak

golden: $(READY)  ## Write the golden transcripts and prompts anew; review what changed
	@GOLDEN_UPDATE=1 $(BIN)/python -m pytest tests/acp_adapter/test_golden.py::test_every_editor_has_its_transcript
	@GOLDEN_UPDATE=1 $(BIN)/python -m pytest tests/acp_adapter/cli/doctor/test_screen.py
	@GOLDEN_UPDATE=1 $(BIN)/python -m pytest tests/agent_core/prompt/test_layers.py
	@GOLDEN_UPDATE=1 $(BIN)/python -m pytest tests/acp_adapter/cli/terminal/test_snapshots.py
	@$(BIN)/python -m scripts.acp_support docs/acp-support.md

SDK_RC := .cache/sdk-rc
sdk-rc: $(READY)  ## Install the SDK's pre-release beside the other, for golden-rc
	$(call install_beside,$(SDK_RC),--no-deps agent-client-protocol==1.0.0rc3)

golden-rc: sdk-rc  ## The golden transcripts and the requirements with the SDK's pre-release
	@GOLDEN_RC=all $(BIN)/python -m pytest tests/acp_adapter/test_golden_rc.py

MATRIX ?=
matrix: $(READY)  ## The suite with each Python, with lowest, locked and newest packages, and golden-rc (nightly; MATRIX='--python 3.12')
	@$(BIN)/python -m scripts.matrix --workers $(PYTEST_WORKERS) $(MATRIX); ran=$$?; \
		$(MAKE) --no-print-directory golden-rc && exit $$ran

lint: $(READY)  ## Style, types, the import contract, the shape, how tests are written, and whether the lock fits
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m scripts.shape --check
	@$(BIN)/python -m scripts.test_manners --check
	@$(BIN)/python -m scripts.lock_check requirements.lock pyproject.toml

audit: $(READY)  ## Look up the locked packages among those with known holes (needs the network)
	@$(BIN)/python -m scripts.audit requirements.lock

format: $(READY)  ## Rewrite the code in the project's style
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: $(READY)  ## Measure start-up, turns and streaming against a floor of the same run
	@$(BIN)/python -m benchmarks

bench-compare: $(READY)  ## Measure, and compare with the committed run; fails if a figure is worse
	@$(BIN)/python -m benchmarks --compare

bench-keep: $(READY)  ## Make the last run of `make bench` the committed one
	@$(BIN)/python -m benchmarks --keep

docs: $(READY)  ## Renew the tables in the documentation, and build its pages into build/site/html
	@$(BIN)/python -m scripts.provider_table docs/models.md
	@$(BIN)/python -m scripts.server_quirks docs/models.md
	@$(BIN)/python -m scripts.acp_support docs/acp-support.md
	@$(BIN)/python -m scripts.tool_pages docs/tools
	@$(BIN)/python -m scripts.settings_reference docs/configuration.md
	@rm -rf build/site && mkdir -p build/site && cp -R docs zensical.toml build/site
	@cd build/site && $(abspath $(BIN))/python -m zensical build --strict

pictures: $(READY)  ## Make the documentation's pictures anew, from real runs
	@$(BIN)/python -m scripts.pictures docs/pictures

facts: $(READY)  ## Renew what is known of models (windows, prices) from the packages that maintain it
	@$(BIN)/python -m scripts.model_facts

node-clients:  ## Install the foreign clients and model server that some tests use (needs Node 20 or newer and npm)
	@cd tests/e2e/foreign && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

lock: $(READY)  ## Renew requirements.lock from pyproject.toml (needs uv)
	@uv pip compile -q --universal --python-version 3.11 --extra dev --generate-hashes --upgrade \
		--no-emit-index-url --no-annotate --no-header pyproject.toml -o requirements.lock

clean:  ## Remove what the other targets made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache dist build
