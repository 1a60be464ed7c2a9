#!/usr/bin/env bash
# Installs what a Debian 12 machine lacks to build Troupe: Debian packages, and LibTorch for the CPU.
# Idempotent: when everything is there it only looks, and takes well under a second. With --bench also what benchmarks
# compare with; they are built without it where it cannot be installed. With --lint also the tools of `make lint`, with
# --asan the compiler of `make test-asan`, with --nodes what tests of several nodes need.
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
  g++ cmake ninja-build make git ca-certificates unzip python3 python3-pip ccache lld
  libcaf-dev libasio-dev libmsgpack-cxx-dev libgtest-dev libgmock-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libfmt-dev libspdlog-dev libexpected-dev libssl-dev zlib1g-dev
)
bench_packages=(libgloo-dev)
lint_packages=(clang clang-format clang-tidy)
asan_packages=(clang libclang-rt-dev)
node_packages=(iproute2 openssh-client openssh-server)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

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
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
}

unpack_libtorch() {
  local work=$1
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --python-version 3.11 --implementation cp --abi cp311 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux2014_x86_64 \
    --dest "$work/wheels" --requirement "$here/libtorch-requirements.txt"
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
  printf '%s\n' "$torch_version" >"$work/unpacked/torch/build-version"
  sha256sum "$here/libtorch-requirements.txt" | cut -d' ' -f1 >"$work/unpacked/torch/.stamp"
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
  unpack_libtorch "$work"
  rm -rf "$torch_root"
  mv "$work/unpacked/torch" "$torch_root"
  rm -rf "$work"
  trap - EXIT
}

install_packages "${packages[@]}"
if [ "${1:-}" = --bench ]; then
  (install_packages "${bench_packages[@]}") || say "going on without ${bench_packages[*]}: transport_bench leaves gloo out"
fi
[ "${1:-}" = --lint ] && install_packages "${lint_packages[@]}"
[ "${1:-}" = --asan ] && install_packages "${asan_packages[@]}"
if [ "${1:-}" = --nodes ]; then
  (install_packages "${node_packages[@]}") || say "going on without ${node_packages[*]}: nodes_test is skipped"
fi
install_libtorch
