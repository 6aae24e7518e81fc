# `make` alone lists what there is. Every target installs what it needs and is not there yet (scripts/need).
# The profile `quick` of Cargo.toml is what is tried and tested with, so that all of it shares what was compiled; `release` what is handed
# out and measured.

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

FLAGS    := --profile quick --locked
# A process for each test, all programs at once; .config/nextest.toml has the rest.
TESTS    := cargo nextest run --cargo-profile quick --locked
# All of the workspace is asked for, so that its crates are compiled with the features that tests and the module ask for, and once.
BUILD    := cargo build $(FLAGS) --workspace --bin tacita
BUILT    := $${CARGO_TARGET_DIR:-target}/quick
FUZZERS  := $(sort $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))))
FUZZ_SECONDS ?= 30

##@ Use
.PHONY: demo dist release try-release docs-site wheel samples plots seeds
demo: fetch  ## a guided tour: one small job after the other
	$(BUILD)
	$(BUILT)/tacita demo

dist: fetch  ## the program to hand out, without the paths of this machine (a build of its own)
	scripts/dist

wheel: fetch  ## the package for Python, with the command in it, in target/wheels
	scripts/need maturin
	scripts/wheel release

samples:  ## make the samples in examples/ again
	python3 examples/generate.py

plots:  ## draw the plots in docs/plots again, from the data beside them
	scripts/need matplotlib
	$(TOOLS)/plots/bin/python docs/plots

seeds: fetch  ## make the files of Parquet, Arrow, aggregation and Paillier in fuzz/seeds again
	cargo run $(FLAGS) -p tacita-node --example fuzz_seeds -- fuzz/seeds

# With KEY=FILE, a private key of ssh-keygen, the checksums are signed.
release: fetch  ## all files of a release in target/release-files, for the platforms whose Rust is here; nothing is uploaded
	scripts/release $(KEY)

try-release:  ## from those files alone to a joint answer of two parties, timed: with Python, with dpkg, with tar
	scripts/try_release target/release-files

docs-site: fetch  ## the documentation as a site in target/site/html, with the notebooks as they run; links are checked
	scripts/need maturin
	scripts/docs_site "$$(scripts/wheel quick)"

##@ Check
.PHONY: test quick format lint docs licences unit portable once python examples lowest-rust test-slow advisories fuzz mutants
test:  ## all that a change has to pass (about three quarters of an hour from cold on two cores); says what each part took
	@took=; for part in format examples licences lint docs portable unit once python; do \
		began=$$SECONDS; $(MAKE) --no-print-directory "$$part"; took+="$$((SECONDS - began)) s $$part\n"; \
	done; echo "== parts, and the slowest tests"; printf "$$took" | sort -rn; echo "$$SECONDS s all"; \
	python3 scripts/slowest.py

# For each crate that differs from what is committed: what its own unit tests say, and of all what clippy says.
quick: fetch  ## while you work: format, clippy, and the unit tests of the crates that you changed
	scripts/need rustfmt clippy cargo-nextest
	cargo fmt --all --check
	cargo clippy $(FLAGS) --workspace --all-targets -- -D warnings
	@changed=$$(git status --porcelain --untracked-files=all | sed -n 's,^.. crates/\([a-z]*\)/.*,\1,p' | sort -u | sed 's/^/package(tacita-/; s/$$/)/; s/-cli)/)/'); \
	[[ -z $$changed ]] || $(TESTS) --workspace --lib -E "$$(sed ':a; N; $$!ba; s/\n/ or /g' <<<"$$changed")"

format:  ## the code is as rustfmt writes it
	scripts/need rustfmt
	cargo fmt --all --check

lint: fetch  ## clippy has nothing to say
	scripts/need clippy
	cargo clippy $(FLAGS) --workspace --all-targets -- -D warnings

# Another one than rust-toolchain.toml's is compiled with where the two differ.
lowest-rust: fetch  ## everything compiles with the lowest Rust, the rust-version of Cargo.toml
	@lowest=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	[[ $$(cargo --version) == "cargo $$lowest."* ]] || { rustup toolchain install "$$lowest" --profile minimal; export RUSTUP_TOOLCHAIN=$$lowest; }; \
	cargo check $(FLAGS) --workspace --all-targets

docs: fetch  ## the reference builds without warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(FLAGS) --workspace --no-deps

licences: fetch  ## deny.toml holds for the dependency graph
	scripts/need cargo-deny
	cargo deny --offline --locked check --hide-inclusion-graph licenses bans sources

# The kernels are all in the primitives; the same test programs run a second time, so nothing is built for it. Where there is no AVX-512,
# `unit` runs what AVX2 does.
portable: fetch  ## the primitives' tests, on the kernels that every processor runs, and the groups' on those without AVX-512
	scripts/need cargo-nextest
	TACITA_PORTABLE=1 $(TESTS) --workspace --lib -E 'package(tacita-core) and test(/^primitive::/)'
	! grep -qs avx512ifma /proc/cpuinfo || TACITA_PORTABLE=avx2 $(TESTS) --workspace --lib -E 'package(tacita-core) and test(/^primitive::(group|okvs|elgamal|published::(pallas|polynomial::tests::ciphertexts))/)'

unit: fetch  ## the tests, those of whole processes and of the page in a browser included
	scripts/need cargo-nextest chromium etcd postgresql schemas
	$(TESTS) --workspace
	cargo test $(FLAGS) --workspace --doc

# The same packages asked for in other words can mean other features of what all stand on, and with that nearly everything compiled anew.
once: fetch  ## what `unit` has compiled is all that the demonstration and the wheel are made of
	@again=$$({ $(BUILD); cargo build $(FLAGS) -p tacita-python --lib; } 2>&1 | grep -v 'Compiling tacita-python ' | grep -E '^ *Compiling|^error' || true); \
	[[ -z $$again ]] || { printf 'once: compiled a second time:\n%s\n' "$$again" >&2; exit 1; }

python: fetch  ## the wheel, installed in a new environment: its tests, types, examples and notebooks
	scripts/need maturin
	scripts/test_python "$$(scripts/wheel quick)"

examples:  ## samples, job files, links and words of the documentation, and names in the sources
	python3 scripts/check_examples.py
	python3 scripts/check_words.py
	python3 scripts/check_names.py
	python3 scripts/papers.py

test-slow: fetch  ## tests that take long: large sets, slow networks; then `make mutants` and `make fuzz`, once
	scripts/need cargo-nextest
	$(TESTS) --workspace --run-ignored only
	scripts/need maturin
	scripts/test_python "$$(scripts/wheel quick)" -m slow
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
.PHONY: bench papers
bench: fetch  ## all that is measured, one after the other
	cargo build --release --locked --workspace --bins
	bench=$${CARGO_TARGET_DIR:-target}/release/tacita-bench; missed=; for name in $$($$bench); do \
		echo "== $$name"; \
		$$bench "$$name" || { status=$$?; [ $$status = 3 ] || exit $$status; missed+=" $$name"; }; \
	done; echo "targets missed:$${missed:- none}"

# Some hours on a machine that does nothing else. Measurements take the place of the old ones when they are all there.
papers: fetch  ## the five papers once more: their measurements, plots, and the tables of docs/papers.md, which must be as they were
	cargo build --release --locked --workspace --bins
	bench=$${CARGO_TARGET_DIR:-target}/release/tacita-bench; for paper in dc kk mnn raf yws; do \
		echo "== paper_$$paper"; \
		$$bench "paper_$$paper" --all --json "docs/plots/$$paper.jsonl.new" || { status=$$?; [ $$status = 3 ] || exit $$status; }; \
		mv "docs/plots/$$paper.jsonl.new" "docs/plots/$$paper.jsonl"; \
	done
	$(MAKE) --no-print-directory plots
	python3 scripts/papers.py

.PHONY: fetch help
fetch:
	scripts/need cargo cc
	cargo fetch --locked

help:
	@awk 'BEGIN { FS = ":.*## *" } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*##/ { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
