#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "messages/limits.hpp"
#include "runtime/cuda/nccl_functions.hpp"
#include "runtime/device/device_context.hpp"
#include "runtime/edge/nccl/device_codec.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What edges over NCCL stand on: the library, one device, and what payloads are there. Tests have their own of each.
struct nccl_tools {
  nccl::functions library;
  /// Not null, as the codec.
  std::shared_ptr<device_context> device;
  std::shared_ptr<const device_codec> codec;
  std::chrono::milliseconds join_timeout = limits::nccl_join_timeout;
  std::chrono::milliseconds operation_timeout = limits::nccl_operation_timeout;
  std::chrono::milliseconds abort_timeout = limits::nccl_abort_timeout;
};

namespace nccl {

/// E0708: `what` has failed with this result, in NCCL's words.
[[nodiscard]] error failed(const nccl::functions& library, const std::string& what, nccl::result how);
/// E0708: `what` has not ended within its time.
[[nodiscard]] error late(const std::string& what, std::chrono::milliseconds limit);

}  // namespace nccl
}  // namespace troupe
