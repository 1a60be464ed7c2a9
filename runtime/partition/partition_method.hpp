#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// How layers are dealt out to stages; what the user writes stands behind each.
enum class partition_kind : std::uint8_t {
  automatic,   ///< "auto": profile where times can be had and can change the cut, else parameters
  uniform,     ///< "uniform": equal numbers of layers
  parameters,  ///< "parameters": trainable parameters, balanced
  type_regex,  ///< "type:REGEX": layers whose type name matches, balanced
  profile,     ///< "profile": measured forward seconds, the slowest stage made as fast as can be
  balanced,    ///< "balanced": weights given as numbers, balanced; not for layers
  boundaries,  ///< "0,4,15": exactly these
};

struct partition_method {
  partition_kind kind = partition_kind::uniform;
  /// type_regex only: the expression behind "type:".
  std::string regex;
  /// boundaries only: strictly increasing from 0, at least two.
  std::vector<std::size_t> boundaries;

  /// How many stages the method itself fixes: only explicit boundaries do.
  [[nodiscard]] std::optional<std::size_t> parts() const;
};

/// Reads what the user wrote. E0102 for an unknown method, E0103 for an invalid regular expression (with its position),
/// E0512 for boundaries that do not increase from 0.
expected<partition_method> parse_partition_method(std::string_view text);

/// As the user would write it.
std::string to_string(const partition_method& method);

}  // namespace troupe
