#pragma once

#include <memory>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include "runtime/device/device_context.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A stream of one of LibTorch's devices: what an accelerator does in order, some time after it was asked. By
/// LibTorch's interface for all of them, so that nothing here knows of CUDA. Threads: one.
///
/// Kernels go to the stream while a c10::StreamGuard with get() lives. bring() and fetch() need such a guard; neither
/// waits, and both keep the strides of dense tensors. The host's memory is pinned on the way, as LibTorch keeps pinned
/// memory until its copies are done.
class torch_stream {
 public:
  /// A new one, behind all that the calling thread has given the device on its current stream: weights that were moved
  /// or folded there. E0902 in LibTorch's words.
  [[nodiscard]] static expected<torch_stream> make(c10::Device device);

  [[nodiscard]] c10::Stream get() const noexcept { return stream_; }
  [[nodiscard]] c10::Device device() const noexcept { return stream_.device(); }

  /// The tensor on the device, from wherever it is; itself if it is there. Throws what LibTorch throws, as fetch().
  [[nodiscard]] at::Tensor bring(const at::Tensor& from) const;
  /// A tensor of the host in pinned memory, whose values are there once an event behind it has passed.
  [[nodiscard]] static at::Tensor fetch(const at::Tensor& from);
  /// Behind everything that the stream was given. Throws what LibTorch throws. has_passed() gives E0902 in LibTorch's
  /// words once the device has failed.
  [[nodiscard]] std::shared_ptr<context_event> record() const;
  /// E0902 once the device has failed: nothing that it is asked can succeed any more.
  [[nodiscard]] expected<void> check() const;

 private:
  explicit torch_stream(c10::Stream stream) : stream_(stream) {}
  c10::Stream stream_;
};

}  // namespace troupe
