#!/usr/bin/env bash
# Installs what a Debian 12 machine lacks to build Troupe: Debian packages, and LibTorch for the CPU.
# Idempotent: when everything is there it only looks, and takes well under a second.
#
#   scripts/setup.sh [--build] [--check] [--nodes] [--bench] [--cuda]
#
#   --build  compiles what needs no LibTorch while LibTorch is fetched
#   --check  also the tools of `make lint`, the validator of JSON Schemas, and the compilers and libraries of the sanitizers
#   --nodes  also what tests of several nodes need; they are skipped where it cannot be installed
#   --bench  also what benchmarks compare with; they are built without it where it cannot be installed
#   --cuda   also LibTorch's kernels for GPUs (1.0 GB more; the CUDA 13 toolkit and NCCL must be there)
#
# LibTorch comes out of the PyPI wheel torch==2.11.0, which is only unpacked: no Python runs later. Wheels are pinned by
# hash in scripts/libtorch-requirements.txt. With TROUPE_TORCH_ROOT set (a LibTorch of your own, >= 2.6, C++11 ABI) the
# download is skipped.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
torch_version=2.11.0
cache_dir=${TROUPE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/troupe}
torch_root=$cache_dir/libtorch-$torch_version-cpu
packages=(
  clang cmake ninja-build make git ca-certificates unzip python3 python3-pip ccache lld
  libcaf-dev libasio-dev libmsgpack-cxx-dev libgtest-dev libgmock-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libfmt-dev libspdlog-dev libexpected-dev libssl-dev libisal-dev zlib1g-dev
  libjpeg62-turbo-dev libpng-dev libarchive-dev libicu-dev libonig-dev
)
bench_packages=(libgloo-dev)
check_packages=(clang-format clang-tidy libclang-rt-dev g++ python3-jsonschema)
node_packages=(iproute2 openssh-client openssh-server)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }
is_asked() { [[ " ${options[*]} " == *" $1 "* ]]; }
options=("$@")

install_packages() {
  local missing=()
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  for package in "$@"; do
    grep -qxF "$package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  # A compiler, CMake or Python that is on PATH from elsewhere serves as well as Debian's.
  local wanted=()
  for package in "${missing[@]}"; do
    case $package in
      g++|cmake|make|git|unzip|python3|clang|clang-format|clang-tidy) command -v "$package" >/dev/null && continue ;;
      python3-jsonschema) python3 -c 'from jsonschema import Draft202012Validator' >/dev/null 2>&1 && continue ;;
      python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
    esac
    wanted+=("$package")
  done
  [ ${#wanted[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || fail "these Debian packages are missing and there is no apt-get: ${wanted[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "need root to install: ${wanted[*]} (run as root, or install sudo)"
    as_root=(sudo)
  fi
  say "installing ${wanted[*]}"
  "${as_root[@]}" apt-get update -qq
  # Without a sync for each of thousands of files, which takes longer than to unpack them.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-unsafe-io "${wanted[@]}" >/dev/null
}

# download_wheels FOLDER REQUIREMENTS
download_wheels() {
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --python-version 3.11 --implementation cp --abi cp311 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux2014_x86_64 \
    --dest "$1" --requirement "$2"
}

unpack_libtorch() {
  local work=$1
  download_wheels "$work/wheels" "$here/libtorch-requirements.txt"
  mkdir -p "$work/unpacked"
  # The wheel's fmt would shadow Debian's (and break spdlog); google and pybind11 are not for C++ programs.
  unzip -q "$work"/wheels/torch-*.whl 'torch/include/*' 'torch/lib/libtorch_cpu.so' 'torch/lib/libc10.so' \
    'torch/lib/libgomp*' 'torch/version.py' 'torch-*.dist-info/*' \
    -x 'torch/include/fmt/*' 'torch/include/google/*' 'torch/include/pybind11/*' -d "$work/unpacked"
  # libtorch_cpu.so of this wheel needs both even without a GPU; its $ORIGIN finds them beside it.
  unzip -q -j "$work"/wheels/nvidia_cuda_runtime-*.whl '*/libcudart.so.13' -d "$work/unpacked/torch/lib"
  unzip -q -j "$work"/wheels/nvidia_cuda_cupti-*.whl '*/libcupti.so.13' -d "$work/unpacked/torch/lib"
  mkdir -p "$work/unpacked/torch/licenses"
  cp -r "$work"/unpacked/torch-*.dist-info/. "$work/unpacked/torch/licenses/"
  unzip -q -j "$work"/wheels/nvidia_cuda_runtime-*.whl '*/licenses/License.txt' -d "$work/unpacked/torch/licenses/nvidia"
  printf '%s\n' "$torch_version" >"$work/unpacked/torch/build-version"
  sha256sum "$here/libtorch-requirements.txt" | cut -d' ' -f1 >"$work/unpacked/torch/.stamp"
}

# What needs no LibTorch, which is half of the program. What fails here fails again in the build, and is shown there.
build_meanwhile() {
  say "compiling what needs no LibTorch meanwhile"
  mkdir -p "$torch_root/include/torch/csrc/api/include"  # CMake wants them
  (cd "$here/.." && TROUPE_TORCH_LATER=1 cmake --preset release &&
    cmake --build build/release --target troupe_simulation troupe_program_pipeline troupe_agent_program) \
    >/dev/null 2>&1 || true
}

install_libtorch() {
  if [ -n "${TROUPE_TORCH_ROOT:-}" ]; then
    [ -f "$TROUPE_TORCH_ROOT/lib/libtorch_cpu.so" ] || fail "TROUPE_TORCH_ROOT=$TROUPE_TORCH_ROOT holds no lib/libtorch_cpu.so; point it at an unpacked LibTorch"
    return
  fi
  [ "$(uname -m)" = x86_64 ] || fail "the pinned LibTorch is for x86_64; set TROUPE_TORCH_ROOT to a LibTorch for $(uname -m)"
  local stamp
  stamp=$(sha256sum "$here/libtorch-requirements.txt" | cut -d' ' -f1)
  [ -f "$torch_root/.stamp" ] && [ "$(cat "$torch_root/.stamp")" = "$stamp" ] && return
  mkdir -p "$cache_dir"
  exec 9>"$cache_dir/.lock"
  flock 9  # two set-ups at once: the second waits and then finds the first one's work
  [ -f "$torch_root/.stamp" ] && [ "$(cat "$torch_root/.stamp")" = "$stamp" ] && return
  say "fetching LibTorch $torch_version into $torch_root (once, about 530 MB)"
  local work
  work=$(mktemp -d "$cache_dir/unpack.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  unpack_libtorch "$work" &
  local fetch=$!
  if is_asked --build; then
    build_meanwhile
  fi
  wait "$fetch"
  rm -rf "$torch_root"
  mv "$work/unpacked/torch" "$torch_root"
  rm -rf "$work"
  trap - EXIT
}

# The CUDA part stands beside libtorch_cpu.so, which is the same file with and without a GPU: it is loaded at run time, so
# the program is built once. cuBLAS, cuDNN and their like come from the toolkit.
install_libtorch_cuda() {
  [ -z "${TROUPE_TORCH_ROOT:-}" ] || { say "TROUPE_TORCH_ROOT is set: its own CUDA part is used, if it has one"; return; }
  local library missing=() known
  known=$(PATH=$PATH:/sbin ldconfig -p)
  for library in libcublas.so.13 libcudnn.so.9 libcufft.so.12 libcurand.so.10 libcusolver.so.12 libcusparse.so.12 libnccl.so.2; do
    grep -qF "$library " <<<"$known" || missing+=("$library")
  done
  [ ${#missing[@]} -eq 0 ] || fail "the CUDA 13 toolkit or NCCL is missing: the loader does not find ${missing[*]}"
  local requirements=$here/libtorch-cuda-requirements.txt stamp work
  stamp=$(sha256sum "$requirements" | cut -d' ' -f1)
  exec 9>"$cache_dir/.lock"
  flock 9
  [ -f "$torch_root/.stamp-cuda" ] && [ "$(cat "$torch_root/.stamp-cuda")" = "$stamp" ] && return
  say "fetching LibTorch's CUDA part into $torch_root (once, about 1 GB)"
  work=$(mktemp -d "$cache_dir/unpack.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  download_wheels "$work/wheels" "$requirements"
  unzip -q -j "$work"/wheels/torch-*.whl torch/lib/libtorch_cuda.so torch/lib/libtorch_cuda_linalg.so torch/lib/libc10_cuda.so \
    torch/lib/libtorch_nvshmem.so torch/lib/libcaffe2_nvrtc.so -d "$work/lib"
  unzip -q -j "$work"/wheels/nvidia_cufile-*.whl '*/lib/libcufile.so.0' -d "$work/lib"
  unzip -q -j "$work"/wheels/nvidia_cusparselt_*.whl '*/lib/libcusparseLt.so.0' -d "$work/lib"
  unzip -q -j "$work"/wheels/nvidia_nvshmem_*.whl '*/lib/libnvshmem_host.so.3' -d "$work/lib"
  mv "$work"/lib/* "$torch_root/lib/"
  printf '%s\n' "$stamp" >"$torch_root/.stamp-cuda"
  rm -rf "$work"
  trap - EXIT
}

is_asked --check && packages+=("${check_packages[@]}")
install_packages "${packages[@]}"
if is_asked --bench; then
  (install_packages "${bench_packages[@]}") || say "going on without ${bench_packages[*]}: transport_bench leaves gloo out"
fi
if is_asked --nodes; then
  (install_packages "${node_packages[@]}") || say "going on without ${node_packages[*]}: nodes_test is skipped"
fi
install_libtorch
if is_asked --cuda; then
  install_libtorch_cuda
fi
