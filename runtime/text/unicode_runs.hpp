#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The flags of all characters (unicode_classes.hpp), as the parts of the `tokenizers` package know them.
namespace troupe::unicode {

inline constexpr std::size_t class_count = 12;
/// One character for each class.
extern const std::string_view class_names;
extern const std::array<std::uint8_t, class_count> flags_of_classes;
/// From U+0000 to U+10FFFF: the name of a class, and how many characters follow each other in it, where that is not 1.
extern const std::string_view runs;

}  // namespace troupe::unicode
