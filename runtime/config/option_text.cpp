// Texts about an option, whether it is one of the table or a command's own.
#include <cctype>

#include <fmt/format.h>

#include "runtime/config/option_table.hpp"

namespace troupe {
namespace {

std::string replaced(std::string_view name, std::string prefix, char for_underscore, bool upper) {
  for (const char c : name) {
    const char kept = c == '_' ? for_underscore : c;
    prefix += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(kept))) : kept;
  }
  return prefix;
}

std::string lower_case(std::string_view text) {
  std::string made;
  for (const char c : text) made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return made;
}

}  // namespace

std::string flag_name(const option& option) {
  return replaced(option.name, "--", '-', false);
}

std::string variable_name(const option& option) {
  return replaced(option.name, "TROUPE_", '_', true);
}

std::string expected_text(const option& option) {
  switch (option.kind) {
    case option_kind::text:
      return "a text";
    case option_kind::count:
      return fmt::format("a whole number from {:.0f} to {:.0f}", option.minimum, option.maximum);
    case option_kind::count_or_auto:
      return fmt::format("auto or a whole number from {:.0f} to {:.0f}", option.minimum, option.maximum);
    case option_kind::seconds:
      return fmt::format("{} from {} to {}", lower_case(option.value_name), option.minimum, option.maximum);
    case option_kind::list:
      return "a list of names";
    case option_kind::faults:
      return "a list of faults";
    case option_kind::toggle:
      return "true or false";
  }
  return {};
}

option_value default_value(const option& option) {
  return option.get(eval_options{});
}

}  // namespace troupe
