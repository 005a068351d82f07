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

# The page's core: `page` is small and fast, `page-quick` is soon built, for tests.
PAGE ?= page
WASM := wasm32-unknown-unknown

.PHONY: help setup demo test hunt package audit bench bench-emulate page page-check page-charts validation cross-validation emulation-validation \
	reference notebooks docs pictures format clean

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
	$(BIN)/pytest --numprocesses 2 --dist worksteal

ROUNDS ?= 20
FUZZ_SECONDS ?= 600
SECONDS ?= 600
hunt: setup ## Random worlds, damaged files, kills, full disks: SECONDS=600; ROUNDS=20 of the Rust properties; TCP fuzzed
	PYTHONPATH=tests $(BIN)/python -m hunt --seconds $(SECONDS)
	for round in $$(seq $(ROUNDS)); do cargo test --workspace --locked --quiet || exit 1; done
	@if command -v cargo-fuzz >/dev/null; then \
		cd crates/transport && RUSTC_BOOTSTRAP=1 cargo fuzz run connection -- -max_total_time=$(FUZZ_SECONDS); \
	else \
		echo "make hunt: cargo-fuzz is not installed, so the fuzz target was not run (cargo install cargo-fuzz)" >&2; \
	fi

package: setup ## Build wheel and source distribution, install both elsewhere, and run the commands of README.md there
	$(BIN)/python tests/package.py

audit: setup ## Hold the lock files against the advisories: cargo-deny and pip-audit, as far as they are in reach
	$(BIN)/python tests/audit.py

bench: setup ## Measure the speed of the core and write benches/RESULTS.md
	$(BIN)/python benches/measure.py

page: ## Build the page into web/dist (needs Rust, Node 20.19 or later and npm); `transorbit view` serves it
	@command -v npm >/dev/null || { echo "make page: needs Node 20.19 or later and npm (Debian: nodejs npm)" >&2; exit 2; }
	@test -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)/lib" || rustup target add $(WASM) \
		|| { echo "make page: needs the Rust target $(WASM)" >&2; exit 2; }
	cargo build --locked --quiet --profile $(PAGE) -p transorbit-wasm --target $(WASM)
	cp target/$(WASM)/$(PAGE)/wasm.wasm web/core.wasm
	cd web && npm ci --no-progress --loglevel=error && npm run --silent build

page-charts: ## Build the charts of reports anew, after a change in web/src/chart or web/src/report
	cd web && npm ci --no-progress --loglevel=error && npm run --silent report

page-check: setup page ## Run every scenario natively, in Node and in Chromium: digests, speed, size, load time, frames a second
	PYTHONPATH=tests $(BIN)/python tests/page_check.py

validation: setup ## Judge every claim of the papers, and write the tables and figures of docs/validation (about half an hour)
	for script in tauran-2018/constellation_pictures tauran-2018/beyond_chapter_6 kuhn-2015/beyond; do \
		PYTHONPATH=papers $(BIN)/python papers/$$script.py || exit 1; done
	$(BIN)/transorbit reproduce --docs docs/validation
	PYTHONPATH=papers $(BIN)/python papers/readme.py

cross-validation: setup ## Hold TCP's goodput against a Linux kernel, ns-2 and ns-3
	$(BIN)/python validation/cross_validation.py

emulation-validation: setup ## Hold kernel TCP, browser and other programs over `emulate` against our models (Linux, iperf3)
	$(SYNC) --group emulation
	$(BIN)/python validation/emulation/programs.py
	$(BIN)/python validation/emulation/iperf.py

bench-emulate: setup ## Measure what an emulation carries, and write benches/EMULATE.md (Linux, iperf3, an idle machine)
	$(BIN)/python benches/emulate.py

reference: setup ## Write docs/reference from the program, and the lists of folders in ARCHITECTURE.md
	$(BIN)/python -m transorbit._reference docs/reference
	$(BIN)/python tests/folders.py

notebooks: setup ## Execute docs/notebooks, and write what they show into them and their pages
	$(BIN)/python tests/notebooks.py

docs: setup ## Build the documentation into site/; site/index.html opens without a server
	$(SYNC) --group docs
	$(BIN)/zensical build --clean --strict
	if [ -f web/dist/index.html ]; then cp -r web/dist site/page; fi

pictures: demo ## Draw the picture of README.md again
	cp results/demo/goodput.png docs/images/leo-tcp-goodput.png

format: setup ## Format the code
	rustfmt $(RUST)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --quiet

clean: ## Remove what was built
	rm -rf $(V) target results site .cache web/dist web/node_modules web/core.wasm
