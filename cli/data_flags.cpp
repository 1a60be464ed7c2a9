#include "data_flags.hpp"

#include <fmt/format.h>

#include "runtime/config/data_overrides.hpp"
#include "runtime/data/data_specification.hpp"

namespace troupe::cli {

data_flags::data_flags(parser& into) : parser_(into) {
  for (const data_option* each : all_data_options()) flags_.push_back({each, data_flag_name(each->name), {}});
  for (flag& each : flags_) {
    const std::string help = fmt::format("Data of {}: {}", kinds_with(each.option->name), each.option->help);
    if (each.option->form == data_value::toggle) {
      into.add_toggle(each.name, each.text, help);
    } else {
      into.add_text(each.name, each.text, help, std::string(each.option->value_name));
    }
  }
}

std::vector<std::pair<std::string, std::string>> data_flags::given() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const flag& each : flags_) {
    if (parser_.is_given(each.name)) all.emplace_back(each.option->name, each.text);
  }
  return all;
}

std::vector<std::string> data_flags::names_given() const {
  std::vector<std::string> all;
  for (const flag& each : flags_) {
    if (parser_.is_given(each.name)) all.push_back(each.name);
  }
  return all;
}

}  // namespace troupe::cli
