# `make demo` shows the main job, `make test` runs every check. Both prepare .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types contracts unit bench clean

demo: .venv/ready
	$(BIN)/sickbay demo

test: lint types contracts unit

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-bench
	$(BIN)/mypy

contracts: .venv/ready-dev
	$(BIN)/lint-imports

unit: .venv/ready-bench
	$(BIN)/pytest -q -n 2 --dist loadfile

bench: .venv/ready-rivals
	$(BIN)/python -m benchmarks.overhead

# torch first and pinned: an unpinned torch brings gigabytes of CUDA packages along.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt \
		hypothesis import-linter mypy pre-commit pytest pytest-xdist ruff triton
	touch $@

.venv/ready-rivals: .venv/ready-dev
	$(BIN)/pip install --quiet --constraint constraints.txt torch-audit torchmortem wandb
	touch $@

.venv/ready-bench: .venv/ready-dev
	$(BIN)/pip install --quiet --constraint constraints.txt \
		grpcio jsonschema matplotlib optuna 'psycopg[binary]' 'ray[tune]' scikit-learn smac
	-$(MAKE) .venv/sarif-2.1.0.json
	touch $@

# The schema of SARIF comes with a tool for it; without npm its test is skipped.
.venv/sarif-2.1.0.json:
	cd .venv && npm pack --silent @microsoft/sarif-multitool-linux@5.7.0
	cd .venv && tar xzf microsoft-sarif-multitool-linux-5.7.0.tgz --strip-components=1 package/sarif-2.1.0.json
	rm .venv/microsoft-sarif-multitool-linux-5.7.0.tgz

clean:
	rm -rf .venv
