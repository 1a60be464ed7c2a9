#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A value that is computed before a place in a model and used behind it.
struct crossing_value {
  /// The name of the layer that made it, "encoder.layer.3"; of an input of the model its own.
  std::string made_by;
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

/// "512 B", "1.50 MiB".
std::string bytes_text(std::uint64_t bytes);

/// "3 values, 1.50 MiB: encoder.layer.3, attention_mask": each maker once, of many the first ones.
std::string crossing_text(const crossing& place);

}  // namespace troupe
