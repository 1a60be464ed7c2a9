# Everything a newcomer needs: `make run`, `make test`. Each target first installs what the machine lacks (scripts/setup.sh,
# under a second when nothing is missing).
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
# Tests of processes compute for about half of their time.
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
MODEL ?= data/mnist/lenet.pt
DATA ?= mnist:data/mnist

.PHONY: setup cuda test-cuda build run quick test test-asan test-tsan check lint bench format tidy clean

setup:
	@scripts/setup.sh --build

build/release/build.ninja: CMakeLists.txt CMakePresets.json | setup
	@cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; rm -f build-configure.log; exit 1; }
	@rm -f build-configure.log

# LibTorch's kernels for GPUs, beside those for the CPU. The program is the same.
cuda:
	@scripts/setup.sh --cuda

# Fails where the CUDA toolkit, NCCL or LibTorch's CUDA part is missing. Without a GPU, tests that need one are skipped.
test-cuda: cuda
	@cmake --preset release -DTROUPE_CUDA=ON >/dev/null
	@scripts/build.py build/release -j $(JOBS) cuda_test cuda_kernels_test cuda_stages_test cuda_nccl_test ipc_process_test
	@ctest --test-dir build/release --output-on-failure -R '^(cuda_|ipc_process)'

# Only the program and what it needs; the tests are built by `make test`.
build: build/release/build.ninja
	@scripts/build.py build/release -j $(JOBS) troupe_cli
	@ln -sfn release/bin/troupe build/troupe

run: build
	@build/troupe eval --model $(MODEL) --data $(DATA) --stages 2 --partition profile --metrics accuracy,per_class_accuracy,nll

# Builds what changed, and runs the tests that take seconds (those without the label slow).
quick: build
	@scripts/build.py build/release -j $(JOBS)
	@ctest --preset release -j $(TEST_JOBS) -LE slow

test: build lint
	@scripts/build.py build/release -j $(JOBS)
	@ctest --preset release -j $(TEST_JOBS)

# Not the tests that start processes, but for a few; ALL=ON: all of them.
ALL ?= OFF
test-asan: setup
	@scripts/setup.sh --check
	@cmake --preset asan -DTROUPE_ALL_TESTS=$(ALL) >/dev/null
	@scripts/build.py build/asan -j $(JOBS)
	@ctest --preset asan -j $(TEST_JOBS)

test-tsan: setup
	@scripts/setup.sh --check
	@cmake --preset tsan >/dev/null
	@scripts/build.py build/tsan -j $(JOBS)
	@ctest --preset tsan -j $(TEST_JOBS)

# Everything under everything: run it before a change is called done. CI runs less (.ci/run).
check:
	@TROUPE_ALL_CASES=1 $(MAKE) test
	@TROUPE_ALL_CASES=1 $(MAKE) test-asan ALL=ON
	@$(MAKE) test-tsan

bench:
	@scripts/setup.sh --bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench -j $(JOBS)
	@build/release/bin/pipeline_bench

# What tools decide, seconds to two minutes: CONTRIBUTING.md has the list.
lint: setup
	@scripts/setup.sh --check
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run -Werror
	@scripts/check_changelog.py
	@cmake --preset lint >/dev/null
	@scripts/check_sources.py build/lint

format:
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format -i

tidy: setup
	@scripts/setup.sh --check
	@cmake --preset lint >/dev/null
	@scripts/check_sources.py build/lint --all

clean:
	@rm -rf build
