#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

/// What the header of a safetensors file says of a tensor, unchecked. Offsets count from the end of the header.
struct safetensors_entry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct header_fault {
  /// More memory than allowed, in place of a wrong form.
  bool is_too_large = false;
  /// "its header is no JSON text at byte 12".
  std::string cause;
};

/// Reads the JSON header: an object of {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} by name, in its
/// order, and "__metadata__" with texts, which is left out. Nothing else may be in it, and no name twice. Takes
/// `memory_bytes` at most.
tl::expected<std::vector<safetensors_entry>, header_fault> parse_safetensors_header(std::string_view json,
                                                                                    std::uint64_t memory_bytes);

/// Names and texts of "weight_map" of a model.safetensors.index.json, in order. The same errors.
tl::expected<std::vector<std::pair<std::string, std::string>>, header_fault> parse_weight_map(
    std::string_view json, std::uint64_t memory_bytes);

}  // namespace troupe
