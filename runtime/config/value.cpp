#include "runtime/config/value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/trimmed.hpp"

namespace troupe {
namespace {

value_problem unlike(const option& option, const std::string& found) {
  return {found + ", expected " + expected_text(option), {}};
}

template <class Number>
tl::expected<option_value, value_problem> parse_number(const option& option, std::string_view text) {
  if (const auto number = number_in<Number>(text)) return option_value(*number);
  return tl::make_unexpected(unlike(option, fmt::format("\"{}\"", text)));
}

std::vector<std::string> trimmed_each(std::vector<std::string> names) {
  for (std::string& each : names) each = trimmed(each);
  return names;
}

tl::expected<option_value, value_problem> parse_toggle(const option& option, std::string_view text) {
  if (text == "true" || text == "1") return option_value(true);
  if (text == "false" || text == "0") return option_value(false);
  return tl::make_unexpected(unlike(option, fmt::format("\"{}\"", text)));
}

bool has_type(const option& option, const option_value& value) {
  switch (option.kind) {
    case option_kind::text:
      return std::holds_alternative<std::string>(value);
    case option_kind::count:
    case option_kind::count_or_auto:
      return std::holds_alternative<std::int64_t>(value);
    case option_kind::seconds:
      return std::holds_alternative<double>(value);
    case option_kind::list:
    case option_kind::faults:
      return std::holds_alternative<std::vector<std::string>>(value);
    case option_kind::toggle:
      return std::holds_alternative<bool>(value);
  }
  return false;
}

/// Written so that NaN lies outside.
bool in_range(const option& option, double number) {
  return number >= option.minimum && number <= option.maximum;
}

/// TOML's basic string, escapes included.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

struct speller {
  const option& described;
  std::string operator()(std::monostate) const {
    return described.kind == option_kind::count_or_auto ? "\"auto\"" : "none";
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const std::string& value : values) items.push_back(quoted(value));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
};

}  // namespace

tl::expected<option_value, value_problem> parse_value(const option& option, std::string_view text) {
  switch (option.kind) {
    case option_kind::text:
      return option_value(std::string(text));
    case option_kind::count_or_auto:
      if (text == "auto") return option_value(std::monostate{});
      return parse_number<std::int64_t>(option, text);
    case option_kind::count:
      return parse_number<std::int64_t>(option, text);
    case option_kind::seconds:
      return parse_number<double>(option, text);
    case option_kind::list:
      return option_value(trimmed_each(split(text, ',')));
    case option_kind::faults:
      return option_value(split(text, fault_separator));
    case option_kind::toggle:
      return parse_toggle(option, text);
  }
  return option_value{};
}

std::optional<value_problem> check_range(const option& option, const option_value& value) {
  if (!has_type(option, value)) return unlike(option, value_text(option, value));
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    if (!in_range(option, static_cast<double>(*count))) return unlike(option, fmt::format("{}", *count));
  }
  if (const auto* seconds = std::get_if<double>(&value)) {
    if (!in_range(option, *seconds)) return unlike(option, fmt::format("{}", *seconds));
  }
  return std::nullopt;
}

std::optional<value_problem> check_value(const option& option, const option_value& value) {
  if (value == default_value(option)) return std::nullopt;
  if (auto problem = check_range(option, value)) return problem;
  std::vector<value_problem> problems;
  if (option.check != nullptr) option.check(value, problems);
  if (problems.empty()) return std::nullopt;
  return problems.front();
}

std::string value_text(const option& option, const option_value& value) {
  return std::visit(speller{option}, value);
}

}  // namespace troupe
