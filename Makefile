# `make demo` shows what sickbay does, `make test` runs every check. Both create .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types contracts docs unit exports bench clean

demo: .venv/ready
	$(BIN)/sickbay demo

test: lint types contracts docs unit

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-bench
	$(BIN)/mypy

contracts: .venv/ready-dev
	$(BIN)/lint-imports

# The pages go to site/ and load nothing from other servers.
docs: .venv/ready-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

unit: .venv/ready-bench
	$(BIN)/pytest -q -n 2 --dist loadfile --durations=15

# Run it after you have added a problem, a remedy or a checkup test, or changed its docstring: it
# writes the imports in `__init__.py` and the tables in the documentation.
exports: .venv/ready
	$(BIN)/python -m tools.write_exports
	$(BIN)/python -m tools.write_tables

bench: .venv/ready-rivals
	$(BIN)/python -m benchmarks.overhead

# torch comes first and pinned: an unpinned torch installs gigabytes of CUDA packages.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt \
		hypothesis import-linter mkdocs-material mypy pre-commit pytest pytest-xdist ruff triton
	touch $@

.venv/ready-rivals: .venv/ready-dev
	$(BIN)/pip install --quiet --constraint constraints.txt \
		mldoct neural-observatory silver-diagnostics torch-audit torchmortem wandb
	touch $@

.venv/ready-bench: .venv/ready-dev
	$(BIN)/pip install --quiet --constraint constraints.txt \
		grpcio jsonschema matplotlib optuna 'psycopg[binary]' 'ray[tune]' scikit-learn smac
	-$(MAKE) .venv/sarif-2.1.0.json
	touch $@

# The libraries whose models `python -m benchmarks.models` examines.
.venv/ready-models: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt \
		byol-pytorch conformer denoising-diffusion-pytorch diffusers efficientnet-pytorch \
		egnn-pytorch g-mlp-pytorch linear-attention-transformer local-attention mambapy \
		mingru-pytorch monai neuralforecast neuraloperator nflows perceiver-pytorch \
		pytorch-metric-learning pytorch-tabnet rtdl-revisiting-models \
		segmentation-models-pytorch siren-pytorch snntorch tab-transformer-pytorch tabm timm \
		torch-geometric torchdiffeq torchvision transformers vector-quantize-pytorch vit-pytorch \
		x-transformers zuko itransformer kornia mlp-mixer-pytorch open-clip-torch \
		performer-pytorch pytorch-forecasting reformer-pytorch rtdl-num-embeddings
	touch $@

# The SARIF schema comes with Microsoft's multitool. Without npm, the test that needs it is skipped.
.venv/sarif-2.1.0.json:
	cd .venv && npm pack --silent @microsoft/sarif-multitool-linux@5.7.0
	cd .venv && tar xzf microsoft-sarif-multitool-linux-5.7.0.tgz --strip-components=1 package/sarif-2.1.0.json
	rm .venv/microsoft-sarif-multitool-linux-5.7.0.tgz

clean:
	rm -rf .venv
