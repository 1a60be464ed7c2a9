#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A value that is computed before a place in a model and used behind it.
struct crossing_value {
  /// The name of the layer that made it, "encoder.layer.3"; of an input of the model its own.
  std::string made_by;
  /// The number of that layer; nothing for an input of the model.
  std::optional<std::size_t> layer = std::nullopt;
  /// Both only where a sample has passed the model; no shape for a value that is no tensor.
  std::optional<std::vector<std::int64_t>> shape = std::nullopt;
  std::optional<std::uint64_t> bytes = std::nullopt;
};

/// A place between two layers, and what would cross a cut there.
struct crossing {
  std::vector<crossing_value> values = {};
  /// Why there can be no cut; empty where there can.
  std::string joined_because = {};

  /// Of all values; nothing where one is not known.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const;
};

/// More of a layer's name is not shown in a line for people.
inline constexpr std::size_t name_columns_max = 32;
/// The end of a path that is too long, which tells more than its begin: "…attention.output.LayerNorm".
std::string path_end(std::string_view path, std::size_t columns);

/// "512 B", "1.50 MiB".
std::string bytes_text(std::uint64_t bytes);

/// "2 values, 1.50 MiB: attention_mask, 5 encoder.layer.3": each maker once with its number, of many the first ones.
std::string crossing_text(const crossing& place);

}  // namespace troupe
