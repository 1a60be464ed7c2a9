#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "messages/activation.hpp"
#include "runtime/edge/tcp/frame_decoder.hpp"

/// Frames of the tcp transport, made and read as its two ends do.
namespace troupe::simulation {

[[nodiscard]] std::vector<std::byte> bytes_of(const frame& head);
[[nodiscard]] std::vector<std::byte> bytes_of(const activation& message, epoch_number epoch);

struct read_frame {
  frame head;
  std::vector<std::byte> payload;
};
/// A whole frame.
[[nodiscard]] expected<read_frame> read(std::span<const std::byte> bytes, payload_check check);
/// Of a frame that was read.
[[nodiscard]] expected<activation> rebuilt(const activation_frame& head, std::span<const std::byte> payload);

}  // namespace troupe::simulation
