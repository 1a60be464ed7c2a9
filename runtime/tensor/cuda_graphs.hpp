#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <c10/core/CachingDeviceAllocator.h>

#include "runtime/device/kernel_recorder.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A part of at::cuda::CUDAGraph, LibTorch 2.11: its members as functions of an object. The program is not linked
/// with libtorch_cuda.so, and has none of its headers; a test compares them where they are (cuda_graphs_abi_test.cpp).
struct cuda_graph_functions {
  /// at::cuda::CUDAGraph takes no more.
  static constexpr std::size_t object_bytes = 512;
  /// Other threads may do what they like meanwhile.
  static constexpr int capture_of_this_thread = 1;

  c10::MempoolId_t (*make_pool)() = nullptr;
  void (*construct)(void* graph, bool keep_graph) = nullptr;
  void (*destroy)(void* graph) = nullptr;
  void (*capture_begin)(void* graph, c10::MempoolId_t pool, int mode) = nullptr;
  void (*capture_end)(void* graph) = nullptr;
  void (*replay)(void* graph) = nullptr;

  /// E0901 where the library lacks one.
  [[nodiscard]] static expected<cuda_graph_functions> of(const std::string& library);
};

/// For CUDA graphs on the current device of the thread that records. Graphs of one recorder use their scratch memory
/// in turn, so they are launched on one stream, and what they write is read there before the next launch. Loads
/// LibTorch's kernels for CUDA, and fails as load_torch_cuda().
[[nodiscard]] expected<std::shared_ptr<kernel_recorder>> cuda_graph_recorder();

}  // namespace troupe
