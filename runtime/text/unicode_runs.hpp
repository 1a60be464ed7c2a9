#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The properties of all characters, as the parts of the `tokenizers` package know them.
namespace troupe::unicode {

struct class_properties {
  std::uint8_t category = 0;
  std::uint16_t flags = 0;
};

inline constexpr std::size_t class_count = 52;
/// One character for each class.
extern const std::string_view class_names;
extern const std::array<class_properties, class_count> properties_of_classes;
/// From U+0000 to U+10FFFF: the name of a class, and how many characters follow each other in it, where that is not 1.
extern const std::string_view runs;

}  // namespace troupe::unicode
