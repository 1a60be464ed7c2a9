#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/data_option.hpp"
#include "runtime/data/table_source.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Choices of one question.
inline constexpr std::size_t choices_max = 4096;

/// A line of choices:FILE.
struct choice_question {
  std::string context = {};
  std::vector<std::string> choices = {};
  /// Which choice is right, from 0.
  std::uint32_t gold = 0;
};

/// From the cells "context", "choices" and "gold" of one line. Errors: E0303 for a value that is missing or of another
/// type, no choices, more than choices_max, and an empty choice; E0305 for a gold that is no choice.
expected<choice_question> read_question(const table_cell& context, const table_cell& choices, const table_cell& gold,
                                        const std::string& place);

/// What delimiter= says; a space without it.
std::string delimiter_of(const data_request& request);

/// Where the white space at the end of a text begins.
std::size_t context_end(std::string_view context);

}  // namespace troupe
