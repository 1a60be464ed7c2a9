# Everything a newcomer needs: `make run`, `make test`. Each target first installs what the machine lacks (scripts/setup.sh,
# under a second when nothing is missing).
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
MODEL ?= data/mnist/lenet.pt
DATA ?= mnist:data/mnist

.PHONY: setup build run test test-asan test-tsan check bench format tidy clean

setup:
	@scripts/setup.sh

build/release/build.ninja: CMakeLists.txt CMakePresets.json | setup
	@cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; rm -f build-configure.log; exit 1; }
	@rm -f build-configure.log

# Only the program and what it needs; the tests are built by `make test`.
build: build/release/build.ninja
	@cmake --build build/release --target troupe_cli -j $(JOBS) >&2
	@ln -sfn release/bin/troupe build/troupe

run: build
	@build/troupe eval --model $(MODEL) --data $(DATA) --stages 2 --partition profile --metrics accuracy,per_class_accuracy,nll

test: build
	@cmake --build build/release -j $(JOBS)
	@ctest --preset release -j $(JOBS)

test-asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)

test-tsan: setup
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan -j $(JOBS)

# What CI runs.
check: test test-asan test-tsan

bench:
	@scripts/setup.sh --bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench -j $(JOBS)
	@build/release/bin/pipeline_bench

format:
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format -i

tidy: build
	@git ls-files 'messages/*.cpp' 'runtime/*.cpp' 'actors/*.cpp' 'program/*.cpp' 'cli/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy --quiet -p build/release

clean:
	@rm -rf build
