# A thin shell over cargo and uv. On a new machine: Rust, Python 3.11 or later with its venv module, and make.
V := .venv
UV_VERSION := 0.13.8
UV := $(V)/bin/uv
BIN := $(V)/bin

# The first Python that is new enough and can make an environment; `make setup PY=python3.13` overrules.
PY ?= $(shell for p in python3.11 python3 python3.12 python3.13 python3.14; do \
	$$p -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

export UV_PROJECT_ENVIRONMENT := $(CURDIR)/$(V)
export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV
# By name: cargo fmt does not see the files that `units::registry!` declares.
RUST = $$(find crates -name '*.rs' -not -path '*/target/*')
SYNC := $(UV) sync --frozen --inexact

.PHONY: help setup demo test hunt bench validation cross-validation reference docs pictures format clean

help: ## List what there is to make
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
		|| grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

$(UV):
	@test -n "$(PY)" || { echo "make setup: needs Python 3.11 or later with its venv module (Debian: python3-venv)" >&2; exit 2; }
	$(PY) -m venv $(V)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

setup: $(UV) ## Build everything into .venv; .venv/bin/transorbit is the program
	@command -v cargo >/dev/null || { echo "make setup: needs Rust (cargo)" >&2; exit 2; }
	$(SYNC)

demo: setup ## Run scenarios/leo-tcp.toml with and without the reordering buffer, and draw it
	$(BIN)/transorbit demo scenarios/leo-tcp.toml --out results/demo

# Properties draw the same cases each time, so that a change alone can turn them red; `make hunt` draws others.
test: export PROPTEST_RNG_SEED := 1
test: setup ## Every check: format, lint, types, Rust and Python tests
	$(SYNC) --group docs
	rustfmt --check $(RUST)
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo test --workspace --locked --quiet
	$(BIN)/ruff format --check
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/pytest

ROUNDS ?= 20
hunt: ## Try the properties of the Rust crates with new random cases, ROUNDS=20 times over
	for round in $$(seq $(ROUNDS)); do cargo test --workspace --locked --quiet || exit 1; done

bench: setup ## Measure the speed of the core and write benches/RESULTS.md
	$(BIN)/python benches/measure.py

validation: setup ## Judge every claim of the papers, and write the tables and figures of docs/validation (about half an hour)
	for script in tauran-2018/constellation_pictures tauran-2018/beyond_chapter_6 kuhn-2015/beyond; do \
		PYTHONPATH=papers $(BIN)/python papers/$$script.py || exit 1; done
	$(BIN)/transorbit reproduce --docs docs/validation

cross-validation: setup ## Hold TCP's goodput against a Linux kernel, ns-2 and ns-3
	$(BIN)/python validation/cross_validation.py

reference: setup ## Write docs/reference from the program
	$(BIN)/python -m transorbit._reference docs/reference

docs: setup ## Build the documentation into site/; site/index.html opens without a server
	$(SYNC) --group docs
	$(BIN)/zensical build --clean --strict

pictures: demo ## Draw the picture of README.md again
	cp results/demo/goodput.png docs/images/leo-tcp-goodput.png

format: setup ## Format the code
	rustfmt $(RUST)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --quiet

clean: ## Remove what was built
	rm -rf $(V) target results site .cache
