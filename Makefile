# A thin front over meson: `make help` lists what there is.
# SPDX-License-Identifier: Apache-2.0
B ?= build
# Compile jobs and test programs at once: all cores unless JOBS=N says otherwise.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Seconds that `make fuzz` spends on each target.
FUZZ_SECONDS ?= 600
# Extra words for meson setup, such as --prefix=/opt/muster.
SETUP ?=

NINJA = ninja -C $(1) -j $(JOBS)
RUN_TESTS = tools/run-tests --jobs $(JOBS)

.PHONY: all demo build test test-long bench proofs asan fuzz install man format help clean

all: build

demo: build ## build, replay a real trace under several policies, write report.html
	@tools/demo.sh $(B)

build: $(B)/build.ninja ## compile (installs the Debian packages that are missing)
	@$(call NINJA,$(B))

$(B)/build.ninja: | need-build
	@meson setup $(SETUP) $(B)

.PHONY: need-build
need-build:
	@tools/need build

test: build ## every test that a change must pass (minutes)
	@tools/need test
	@$(RUN_TESTS) $(B)

test-long: build ## the long suites: all FGD workloads, 10 million records (an hour or more)
	@tools/need test
	@$(RUN_TESTS) --suite long $(B)

proofs: build ## every figure that the README or docs state, shown again
	@tools/need bench
	@proofs/run $(B)

bench: build ## times beside their aims and peers; BENCH_INSTR=1 counts instructions too
	@tools/need bench
	@bench/run $(B)

asan: | need-build ## build with address and undefined-behaviour sanitizers and run the tests
	@[ -f build-asan/build.ninja ] || meson setup build-asan -Db_sanitize=address,undefined
	@$(call NINJA,build-asan)
	@ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 \
	    UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 \
	    $(RUN_TESTS) --slower 10 build-asan

fuzz: | need-build ## libFuzzer on each parser, FUZZ_SECONDS=600 each (FUZZ_ONLY=csv for one)
	@tools/need fuzz
	@tools/fuzz $(FUZZ_SECONDS) $(FUZZ_ONLY)

install: build ## install program, policies, formats, docs and man pages (DESTDIR, SETUP=--prefix=)
	@meson install -C $(B) --no-rebuild

man: build ## write the man pages to $(B)/man
	@tools/man $(B)/muster $(B)/man

format: ## rewrite src and tests by .clang-format (no gate; look at the diff)
	@tools/need format
	@find src tests bench proofs -name '*.[ch]' | xargs clang-format-14 -i

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

clean: ## remove what was built
	rm -rf $(B) build-asan build-fuzz report.html
