# Everything a newcomer needs: `make run`, `make test`. Each target first installs what the machine lacks (scripts/setup.sh,
# under a second when nothing is missing).
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
# Tests of processes compute for about half of their time.
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
# --remembered: not those that passed with the same content (scripts/run_tests.py).
TEST_FLAGS ?=
MODEL ?= data/mnist/lenet.pt
DATA ?= mnist:data/mnist

.PHONY: setup cuda test-cuda build run quick test test-asan test-tsan lint check bench format tidy clean

setup:
	@scripts/setup.sh

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

# Builds what changed, and runs the tests whose program changed since they passed last; not those that take long.
quick: build
	@scripts/build.py build/release -j $(JOBS)
	@scripts/run_tests.py release -j $(TEST_JOBS) --changed

test: build lint
	@scripts/build.py build/release -j $(JOBS)
	@scripts/run_tests.py release -j $(TEST_JOBS) $(TEST_FLAGS)

test-asan: setup
	@scripts/setup.sh --asan
	@cmake --preset asan >/dev/null
	@scripts/build.py build/asan -j $(JOBS)
	@scripts/run_tests.py asan -j $(TEST_JOBS) $(TEST_FLAGS)

test-tsan: setup
	@cmake --preset tsan >/dev/null
	@scripts/build.py build/tsan -j $(JOBS)
	@scripts/run_tests.py tsan -j $(TEST_JOBS) $(TEST_FLAGS)

# What CI runs.
check: test test-asan test-tsan

bench:
	@scripts/setup.sh --bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench -j $(JOBS)
	@build/release/bin/pipeline_bench

# What tools decide, seconds to two minutes: CONTRIBUTING.md has the list.
lint: build/release/build.ninja
	@scripts/setup.sh --lint
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run -Werror
	@scripts/check_changelog.py
	@scripts/check_headers.py build/release
	@scripts/check_tidy.py build/release

format:
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format -i

tidy: build/release/build.ninja
	@scripts/setup.sh --lint
	@scripts/check_tidy.py build/release --all

clean:
	@rm -rf build
