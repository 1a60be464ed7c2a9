#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe {

enum class device_kind : std::uint8_t {
  cpu,
  cuda,
  extension,  ///< what the program itself makes known to LibTorch, under LibTorch's name for it: "privateuseone"
};

/// A device as users name it: "cpu", "cuda:1", or "cuda" for any of a machine, one stage after the other.
struct device_name {
  device_kind kind = device_kind::cpu;
  /// Set for "cuda:N" and its like.
  std::optional<int> ordinal = std::nullopt;

  friend bool operator==(const device_name&, const device_name&) = default;
};

/// `where` names the flag or key. E0103 for any other text, a sign, or a number beyond 1023.
[[nodiscard]] expected<device_name> parse_device(std::string_view text, const std::string& where);
[[nodiscard]] std::string to_string(const device_name& device);

/// Which device of this machine the stage gets: `index` is its place among those that leave the choice open, and
/// `devices` their number, or why there is none. E0110, which names stage, device, cause and way out.
[[nodiscard]] expected<device_name> place_stage(const device_name& asked, const std::string& stage, std::uint32_t index,
                                                const expected<std::size_t>& devices);

}  // namespace troupe
