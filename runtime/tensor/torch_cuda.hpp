#pragma once

#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// Loads LibTorch's kernels for CUDA, libtorch_cuda.so beside the libtorch_cpu.so of this process. Takes about two
/// seconds the first time; later calls give the same answer. Threads: any.
///
/// It needs no driver and no GPU, and changes nothing for tensors of the CPU. It must come before the first call that
/// asks LibTorch for CUDA, since LibTorch remembers the answer; a convolution on the CPU is such a call. E0901 where
/// the library, or one that it needs, is missing: `scripts/setup.sh --cuda` installs it.
[[nodiscard]] expected<void> load_torch_cuda();

/// Where that library is expected.
[[nodiscard]] std::string torch_cuda_path();

}  // namespace troupe
