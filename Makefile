# `make` alone lists what there is. Every target installs what it needs and is not there yet (scripts/need).
# One build profile, release, so that tests, programs and the demonstration share what was compiled.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

export TOOLS := $(CURDIR)/target/tools
export PATH := $(TOOLS)/bin:$(PATH)

# The larger public data sets: tests that use them are left out where they are missing.
ifeq ($(origin TACITA_DATA),undefined)
ifneq ($(wildcard ../shared/data/.),)
export TACITA_DATA := $(abspath ../shared/data)
endif
endif

FLAGS    := --release --locked
BENCHES  := $(sort $(patsubst benches/src/bin/%,%,$(patsubst %/main.rs,%,$(patsubst %.rs,%,$(wildcard benches/src/bin/*.rs)) $(wildcard benches/src/bin/*/main.rs))))
FUZZERS  := $(sort $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))))
FUZZ_SECONDS ?= 30

##@ Use
.PHONY: demo dist docs-site wheel samples seeds
demo: fetch  ## a guided tour: one small job after the other
	cargo run $(FLAGS) -p tacita --bin tacita -- demo

dist: fetch  ## the program to hand out, without the paths of this machine (a build of its own)
	scripts/dist

wheel: fetch  ## the package for Python, with the command in it, in target/wheels
	scripts/need maturin
	scripts/wheel

samples:  ## make the samples in examples/ again
	python3 examples/generate.py

seeds: fetch  ## make the files of Parquet, Arrow, aggregation and Paillier in fuzz/seeds again
	cargo run $(FLAGS) -p tacita-node --example fuzz_seeds -- fuzz/seeds

docs-site: fetch  ## the documentation as a site in target/site/html, with the notebooks as they run; links are checked
	scripts/need maturin
	scripts/docs_site "$$(scripts/wheel)"

##@ Check
.PHONY: test format lint docs licences unit portable python examples test-slow advisories fuzz mutants
test:  ## all that a change has to pass (about three quarters of an hour from cold on two cores); says what each part took
	@for part in format lint docs licences portable unit python examples; do \
		began=$$SECONDS; $(MAKE) --no-print-directory "$$part"; echo "== $$part: $$((SECONDS - began)) s"; \
	done

format:  ## the code is as rustfmt writes it
	scripts/need rustfmt
	cargo fmt --all --check

lint: fetch  ## clippy has nothing to say
	scripts/need clippy
	cargo clippy $(FLAGS) --workspace --all-targets -- -D warnings

docs: fetch  ## the reference builds without warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(FLAGS) --workspace --no-deps

licences: fetch  ## deny.toml holds for the dependency graph
	scripts/need cargo-deny
	cargo deny --offline --locked check --hide-inclusion-graph licenses bans sources

# The kernels are all in the primitives; the same test programs run a second time, so nothing is built for it.
portable: fetch  ## the primitives' tests, on the kernels that every processor runs, and the groups' on those without AVX-512
	TACITA_PORTABLE=1 cargo test $(FLAGS) --workspace --lib -- primitive::
	TACITA_PORTABLE=avx2 cargo test $(FLAGS) --workspace --lib -- primitive::group primitive::okvs primitive::elgamal

unit: fetch  ## the tests, those of whole processes and of the page in a browser included
	scripts/need chromium etcd postgresql schemas
	cargo test $(FLAGS) --workspace

python: fetch  ## the wheel, installed in a new environment: its tests, types, examples and notebooks
	scripts/need maturin
	scripts/test_python "$$(scripts/wheel)"

examples:  ## samples, job files and links of the documentation
	python3 scripts/check_examples.py

test-slow: fetch  ## tests that take long: large sets, slow networks; then `make mutants` and `make fuzz`, once
	cargo test $(FLAGS) --workspace -- --ignored
	scripts/need maturin
	scripts/test_python "$$(scripts/wheel)" -m slow
	$(MAKE) --no-print-directory mutants
	$(MAKE) --no-print-directory fuzz

mutants: fetch  ## code made wrong at one place after the other: the tests notice each (scripts/mutants has the list)
	python3 scripts/mutants.py

advisories: fetch  ## known vulnerabilities in the dependency graph (asks the network)
	scripts/need cargo-deny
	cargo deny --locked check advisories

fuzz:  ## each fuzz target for FUZZ_SECONDS (30), from fuzz/seeds; what it finds is in fuzz/artifacts
	scripts/need nightly cargo-fuzz
	cargo +nightly fetch --locked --manifest-path fuzz/Cargo.toml
	failed=(); \
	for target in $(FUZZERS); do \
		mkdir -p "fuzz/corpus/$$target" "fuzz/seeds/$$target"; \
		cargo +nightly fuzz run "$$target" "fuzz/corpus/$$target" "fuzz/seeds/$$target" -- \
			-max_total_time=$(FUZZ_SECONDS) || failed+=("$$target"); \
	done; \
	[[ $${#failed[@]} -eq 0 ]] || { echo "fuzz: failed: $${failed[*]}" >&2; exit 1; }

##@ Measure
.PHONY: bench
bench: fetch  ## the measuring programs of benches/, one after the other
	cargo build $(FLAGS) --workspace --bins
	missed=; for program in $(BENCHES); do \
		echo "== $$program"; \
		"$${CARGO_TARGET_DIR:-target}/release/$$program" || { \
			status=$$?; [ $$status = 3 ] || exit $$status; missed+=" $$program"; \
		}; \
	done; echo "targets missed:$${missed:- none}"

.PHONY: fetch help
fetch:
	scripts/need cargo cc
	cargo fetch --locked

help:
	@awk 'BEGIN { FS = ":.*## *" } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*##/ { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
