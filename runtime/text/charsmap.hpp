#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// The replacements of a SentencePiece model: a double array of the library Darts-clone, and the texts that it names,
/// which end in zeros. A damaged array leads to no replacement, never outside.
class charsmap {
 public:
  charsmap() = default;
  /// E0308 where the bytes are damaged. No bytes have no replacements.
  static expected<charsmap> from_bytes(std::string bytes, const std::string& where);

  /// The text for the shortest beginning of `part` that has one, as the `tokenizers` package takes it.
  [[nodiscard]] std::optional<std::string_view> first(std::string_view part) const;

  struct replacement {
    /// Bytes that are replaced; 0 for none.
    std::size_t length = 0;
    std::string_view text = {};
  };
  /// The text for the longest beginning, as SentencePiece takes it.
  [[nodiscard]] replacement longest(std::string_view part) const;

 private:
  charsmap(std::vector<std::uint32_t> units, std::string texts) : units_(std::move(units)), texts_(std::move(texts)) {}
  /// Calls take(length, text), which says whether to go on, for each beginning with a text.
  template <class Take>
  void walk(std::string_view part, const Take& take) const;
  [[nodiscard]] std::optional<std::string_view> text_at(std::size_t node) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace troupe
