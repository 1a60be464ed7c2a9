#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/cuda/driver_functions.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A point in a stream's work. It has passed when all that the stream was given before it is done.
class context_event {
 public:
  context_event() = default;
  context_event(const context_event&) = delete;
  context_event& operator=(const context_event&) = delete;
  virtual ~context_event() = default;
  /// Never waits. E0902 once the device has failed.
  [[nodiscard]] virtual expected<bool> has_passed() = 0;
};

/// Work of a device, done in order and some time later. Destruction waits for nothing; work that was given is done.
class context_stream {
 public:
  context_stream() = default;
  context_stream(const context_stream&) = delete;
  context_stream& operator=(const context_stream&) = delete;
  virtual ~context_stream() = default;

  /// Both places stay as they are, and valid, until an event behind the copy has passed. Each is memory of the device
  /// or of the host; from the host's ordinary memory a copy may wait, from pinned memory it does not.
  [[nodiscard]] virtual expected<void> copy(std::byte* into, const std::byte* from, std::size_t bytes) = 0;
  [[nodiscard]] virtual expected<std::shared_ptr<context_event>> record() = 0;
  /// Work given to this stream from now on waits for the event; the caller does not. The event is of the same kind of
  /// device.
  [[nodiscard]] virtual expected<void> wait_for(const context_event& event) = 0;
  /// For libraries that give it work; null where the device has none.
  [[nodiscard]] virtual cuda_stream handle() noexcept = 0;
};

class device_sharing;

/// A device as stages and edges use it. They know a device by this alone: a stage has no other way to a GPU.
///
/// Threads: any, after enter_thread(), also for streams and events. What two threads give a stream at once is done in
/// either order.
class device_context {
 public:
  device_context() = default;
  device_context(const device_context&) = delete;
  device_context& operator=(const device_context&) = delete;
  virtual ~device_context() = default;

  /// The calling thread works with this device from now on.
  [[nodiscard]] virtual expected<void> enter_thread() = 0;
  /// Aligned to limits::payload_alignment; its bytes are not set. Freed with the last owner, on any thread, and only
  /// after events behind its last use have passed. E0902 names the bytes that were asked for and those that are free.
  [[nodiscard]] virtual expected<std::shared_ptr<std::byte>> allocate(std::size_t bytes) = 0;
  /// Memory of the host that the device reads and writes without a detour (pinned). As allocate().
  [[nodiscard]] virtual expected<std::shared_ptr<std::byte>> allocate_host(std::size_t bytes) = 0;
  [[nodiscard]] virtual expected<std::unique_ptr<context_stream>> make_stream() = 0;
  /// With other processes of this host (device_sharing.hpp). E0110 where the device cannot, E0901 where its driver
  /// cannot.
  [[nodiscard]] virtual expected<std::shared_ptr<device_sharing>> sharing();
};

}  // namespace troupe
