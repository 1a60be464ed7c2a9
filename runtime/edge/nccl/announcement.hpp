#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/nccl_functions.hpp"
#include "runtime/edge/nccl/device_codec.hpp"
#include "runtime/edge/payload_codec.hpp"

/// What the two ends of an nccl edge tell each other beside NCCL, in the place of tensors (docs/edges.md).
namespace troupe::nccl {

/// The first message of a producer: how to make the communicator.
class hello final : public payload {
 public:
  explicit hello(const nccl::unique_id& made) : id(made) {}
  const nccl::unique_id id;
};

/// What the next send has: shape, type and bytes, without the bytes.
class announcement final : public payload {
 public:
  announcement(std::uint64_t its_number, std::vector<std::byte> described, std::vector<device_extent> sent)
      : number(its_number), description(std::move(described)), extents(std::move(sent)) {}
  /// The number of the send, from 0 on its edge.
  const std::uint64_t number;
  const std::vector<std::byte> description;
  const std::vector<device_extent> extents;
};

/// Bytes of all extents together, each rounded up to limits::payload_alignment; E0701 beyond
/// limits::nccl_message_bytes_max, E0702 for a type that is none. Nothing overflows.
[[nodiscard]] expected<std::uint64_t> room_of(std::span<const device_extent> extents);

/// Reads and writes both of them, and leaves all other payloads (labels) to `others`, which is not null. What it reads
/// is bounded before memory is allocated: E0701 beyond a limit, E0702 for malformed bytes. Threads: any.
[[nodiscard]] std::shared_ptr<const payload_codec> announcing_codec(std::shared_ptr<const payload_codec> others);

}  // namespace troupe::nccl
