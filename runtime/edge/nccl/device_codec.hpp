#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "messages/payload.hpp"
#include "runtime/cuda/nccl_functions.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// So many elements, one after another.
struct device_extent {
  std::uint64_t count = 0;
  nccl::element type = nccl::element::uint8;
  friend bool operator==(const device_extent&, const device_extent&) = default;
};

/// A payload for a device: bytes of the host that describe it, and what lies on the device.
struct device_parts {
  /// At most limits::nccl_description_bytes_max.
  std::vector<std::byte> description;
  /// At most limits::wire_tensors_max; in order.
  std::vector<device_extent> extents;
  /// One for each extent. They stay as they are while `owner` lives.
  std::vector<const std::byte*> places;
  std::shared_ptr<const void> owner;
  /// One for each place, which stays as it is while it lives: one part can be kept longer than the others.
  std::vector<std::shared_ptr<const void>> owners;
};

/// How a payload on a device becomes such parts, and a payload again at the other end. Threads: any.
class device_codec {
 public:
  device_codec() = default;
  device_codec(const device_codec&) = delete;
  device_codec& operator=(const device_codec&) = delete;
  virtual ~device_codec() = default;

  /// Throws std::runtime_error, which says why, for a payload that cannot be sent.
  virtual void check(const payload& value) const = 0;
  /// The parts of a payload that check() takes.
  [[nodiscard]] virtual device_parts split(const payload_ptr& value) const = 0;
  /// Takes the description as untrusted, before memory is allocated: whether it is one of these extents. E0701, E0702.
  [[nodiscard]] virtual expected<void> matches(std::span<const std::byte> description,
                                               std::span<const device_extent> extents) const = 0;
  /// `places` has one for each extent, each at a multiple of limits::payload_alignment, filled; they are kept by
  /// `owner`. What matches() takes can only fail by what was received. E0702.
  [[nodiscard]] virtual expected<payload_ptr> join(std::span<const std::byte> description,
                                                   std::span<const device_extent> extents,
                                                   std::span<std::byte* const> places,
                                                   std::shared_ptr<const void> owner) const = 0;
};

}  // namespace troupe
