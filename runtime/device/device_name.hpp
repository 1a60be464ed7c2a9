#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cuda/cuda_driver.hpp"
#include <troupe/error.hpp>

namespace troupe {

enum class device_kind : std::uint8_t { cpu, cuda };

/// A device as users name it: "cpu", "cuda:1", or "cuda" for any of a node, one stage after the other.
struct device_name {
  device_kind kind = device_kind::cpu;
  /// Set for "cuda:N" alone.
  std::optional<int> ordinal = std::nullopt;

  friend bool operator==(const device_name&, const device_name&) = default;
};

/// `where` names the flag or key. E0103 for any other text, a sign, or a number beyond 1023.
[[nodiscard]] expected<device_name> parse_device(std::string_view text, const std::string& where);
[[nodiscard]] std::string to_string(const device_name& device);

/// Which device of this machine the stage gets: `index` is its place among the node's stages that ask for "cuda".
/// E0110, which names stage, device, cause and way out, if the driver is missing (`driver` is the error of its load),
/// does not start, or lists no such device.
[[nodiscard]] expected<device_name> place_stage(const device_name& asked, const std::string& stage, std::uint32_t index,
                                                const expected<cuda_driver>& driver);

}  // namespace troupe
