#pragma once

#include <chrono>
#include <memory>

#include "messages/limits.hpp"
#include "runtime/device/device_sharing.hpp"
#include "runtime/edge/nccl/device_codec.hpp"

namespace troupe {

/// What edges over shared memory of devices stand on. Tests have their own of each.
struct ipc_tools {
  /// Not null, as the next two.
  std::shared_ptr<device_context> device;
  /// Memory and events of that device, for other processes.
  std::shared_ptr<device_sharing> sharing;
  std::shared_ptr<const device_codec> codec;
  /// On which stages of this process read what has arrived: a payload may be dropped as soon as the work that reads it
  /// was given to this stream. Null: only after that work is done.
  std::shared_ptr<context_stream> readers = nullptr;
  std::chrono::milliseconds arrival_timeout = limits::ipc_arrival_timeout;
  std::chrono::milliseconds linger_timeout = limits::ipc_linger_timeout;
};

}  // namespace troupe
