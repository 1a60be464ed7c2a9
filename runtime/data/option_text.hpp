#pragma once

#include <string>
#include <vector>

#include "runtime/data/data_option.hpp"

namespace troupe {

/// A value from its items, which a list has several of: not yet checked but for its form. `text` is what errors show.
/// Errors: E0103.
expected<data_option_value> value_of_items(const data_option& option, const std::vector<std::string>& items,
                                           const std::string& text, const std::string& where);

/// With `between` between the items of a list, in quotes where needed.
std::string value_text(const data_option_value& value, char between);

/// The example as KIND:PATH,NAME=VALUE has it.
std::string option_example(const data_option& option);

}  // namespace troupe
