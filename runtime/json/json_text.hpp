#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <troupe/error.hpp>

namespace troupe {

/// Containers inside of containers that a JSON text may have. A program of torch.export has about 12, and 8 more for
/// each conditional inside of another one; other files have fewer.
inline constexpr std::size_t json_depth_max = 200;

/// Reads a JSON text. Before anything is kept, it is read once to see that its form is right (E0210), that it is nested
/// json_depth_max deep at most, and that it takes `memory_bytes` at most, by a generous estimate (both E0214).
/// `where` is the place in errors, `name` what the text is: "models/model.json".
expected<nlohmann::json> parse_json(std::string_view text, std::uint64_t memory_bytes, const std::string& where,
                                    const std::string& name);

}  // namespace troupe
