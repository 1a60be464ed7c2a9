#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/text/unicode_classes.hpp"

namespace troupe {

/// Characters, as ranges in ascending order that do not touch each other.
class range_set {
 public:
  using range = std::pair<char32_t, char32_t>;  ///< first and last

  range_set() = default;
  range_set(char32_t first, char32_t last) : ranges_{{first, last}} {}
  /// The characters whose properties `is_in` accepts.
  template <class IsIn>
  static range_set of_classes(const IsIn& is_in) {
    range_set all;
    unicode::character_table::get().for_each_run([&](char32_t first, char32_t last, unicode::class_properties found) {
      if (is_in(found)) all.append(first, last);
    });
    return all;
  }
  static range_set of_flag(unicode::flag wanted);

  void add(const range_set& other);
  void add_cases();
  [[nodiscard]] range_set complement() const;
  [[nodiscard]] range_set intersection(const range_set& other) const;
  /// The first bytes of its characters.
  [[nodiscard]] std::bitset<256> first_bytes() const;
  [[nodiscard]] const std::vector<range>& ranges() const noexcept { return ranges_; }

 private:
  /// Behind or touching the last one.
  void append(char32_t first, char32_t last);

  std::vector<range> ranges_;
};

/// The same characters for a fast question.
class code_point_set {
 public:
  explicit code_point_set(const range_set& ranges);

  [[nodiscard]] bool has(char32_t c) const noexcept { return blocks_[block_of_[c >> 8]][c & 0xFF]; }
  [[nodiscard]] bool has_ascii(char byte) const noexcept { return blocks_[0][static_cast<unsigned char>(byte)]; }

 private:
  using block = std::bitset<256>;

  std::vector<block> blocks_;
  std::array<std::uint16_t, 0x1100> block_of_{};
};

}  // namespace troupe
