#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/code_point_set.hpp"
#include <troupe/error.hpp>

namespace troupe::regex {

inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

enum class node_kind {
  nothing,
  set,           ///< one character of `set`
  sequence,      ///< all of `parts`
  alternatives,  ///< the first of `parts` that fits
  repeat,        ///< the only part, `least` to `most` times
  look_ahead,    ///< the only part fits here, or not (`is_negated`), and takes no character
  look_behind,   ///< the same before here
  atomic,        ///< the only part, whose first fit is not taken back
  line_begin,
  line_end,
  text_begin,
  text_end,
  text_end_or_newline,
  word_edge  ///< or, negated, none
};
enum class greed { greedy, lazy, possessive };

struct node {
  node_kind kind = node_kind::nothing;
  range_set set = {};
  std::vector<node> parts = {};
  std::size_t least = 0;
  std::size_t most = 0;
  greed how = greed::greedy;
  bool is_negated = false;
};

/// Reads a regular expression as the `tokenizers` package does (Oniguruma's syntax). A part that is broken or not
/// supported, such as a reference to a group, is the text of the error, with its place.
tl::expected<node, std::string> parse(std::string_view pattern);

}  // namespace troupe::regex
