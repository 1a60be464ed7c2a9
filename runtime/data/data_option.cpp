#include "runtime/data/data_option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "messages/try.hpp"
#include "runtime/data/marked_text.hpp"
#include "runtime/data/option_text.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

/// 255 and 100000, not 255.000000 and 1e+05.
std::string number_text(double number) {
  constexpr double whole_shown = 1e15;
  std::array<char, 32> room{};
  const bool is_whole = std::abs(number) < whole_shown && number == std::trunc(number);
  const auto [end, failure] =
      is_whole ? std::to_chars(room.data(), room.data() + room.size(), static_cast<std::int64_t>(number))
               : std::to_chars(room.data(), room.data() + room.size(), number);
  return failure == std::errc{} ? std::string(room.data(), end) : std::string();
}

std::string in_range(const data_option& option) {
  if (option.minimum == option.maximum) return {};
  const bool has_end = option.maximum < 9e15;
  return (option.minimum > -9e15 ? " from " + number_text(option.minimum) : "") +
         (has_end ? " to " + number_text(option.maximum) : "");
}

std::string choices_text(const data_option& option) {
  std::string text;
  for (const std::string_view each : option.choices) text += (text.empty() ? "" : ", ") + std::string(each);
  return text;
}

tl::unexpected<error> bad_value(const data_option& option, const std::string& found, const std::string& where) {
  std::string fix;
  if (option.form == data_value::choice) {
    const std::vector<std::string> known(option.choices.begin(), option.choices.end());
    fix = suggest_fix(found, known);
  } else if (option.form == data_value::toggle) {
    fix = "write " + std::string(option.name) + " alone, or leave it out";
  } else {
    fix = "write for example " + std::string(option.name) + "=" + option_example(option);
  }
  return fail(error_code::value_out_of_range, where,
              std::string(option.name) + ": expected " + expected_text(option) + ", found \"" + found + "\"", fix);
}

bool is_in_range(const data_option& option, double value) {
  return option.minimum == option.maximum || (option.minimum <= value && value <= option.maximum);
}

expected<data_option_value> read_numbers(const data_option& option, const std::vector<std::string>& items,
                                         const std::string& text, const std::string& where) {
  std::vector<double> numbers;
  for (const std::string& item : items) {
    const auto number = number_in<double>(item);
    if (!number || !std::isfinite(*number)) return bad_value(option, text, where);
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

const data_option* find_data_option(std::span<const data_option> table, std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '_', '-');
  const auto found = std::ranges::find(table, std::string_view(wanted), &data_option::name);
  return found == table.end() ? nullptr : &*found;
}

std::string expected_text(const data_option& option) {
  switch (option.form) {
    case data_value::text:
      return "a text";
    case data_value::choice:
      return "one of " + choices_text(option);
    case data_value::count:
      return "a whole number" + in_range(option);
    case data_value::numbers:
      return option.length == 1
                 ? "a real number" + in_range(option)
                 : (option.length == 0 ? "" : std::to_string(option.length) + " ") + "real numbers" + in_range(option);
    case data_value::names:
      return "names";
    case data_value::toggle:
      return "true or false";
  }
  return {};
}

std::string option_example(const data_option& option) {
  std::string example(option.example);
  const bool is_list = option.form == data_value::numbers || option.form == data_value::names;
  if (is_list) std::ranges::replace(example, ',', '+');
  return example;
}

std::string value_text(const data_option_value& value, char between) {
  const std::string special = std::string(",") + between + "\"";
  std::string text;
  if (const auto* plain = std::get_if<std::string>(&value)) return quoted_where_needed(*plain, ",\"");
  if (const auto* count = std::get_if<std::int64_t>(&value)) return std::to_string(*count);
  if (const auto* toggle = std::get_if<bool>(&value)) return *toggle ? "true" : "false";
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    for (const double each : *numbers) {
      std::string written = number_text(each);
      std::erase(written, '+');  // 1e+20
      text += (text.empty() ? "" : std::string(1, between)) + written;
    }
    return text;
  }
  for (const std::string& each : std::get<std::vector<std::string>>(value)) {
    text += (text.empty() ? "" : std::string(1, between)) + quoted_where_needed(each, special);
  }
  return text;
}

expected<void> check_data_value(const data_option& option, const data_option_value& value, const std::string& where) {
  const auto bad = [&] { return bad_value(option, value_text(value, ','), where); };
  switch (option.form) {
    case data_value::text:
      if (!std::holds_alternative<std::string>(value) || std::get<std::string>(value).empty()) return bad();
      return {};
    case data_value::choice:
      if (!std::holds_alternative<std::string>(value)) return bad();
      if (std::ranges::find(option.choices, std::get<std::string>(value)) == option.choices.end()) return bad();
      return {};
    case data_value::count: {
      const auto* count = std::get_if<std::int64_t>(&value);
      if (count == nullptr || !is_in_range(option, static_cast<double>(*count))) return bad();
      return {};
    }
    case data_value::numbers: {
      const auto* numbers = std::get_if<std::vector<double>>(&value);
      if (numbers == nullptr || numbers->empty() || (option.length != 0 && numbers->size() != option.length))
        return bad();
      const auto is_good = [&](double each) { return std::isfinite(each) && is_in_range(option, each); };
      if (!std::ranges::all_of(*numbers, is_good)) return bad();
      return {};
    }
    case data_value::names: {
      const auto* names = std::get_if<std::vector<std::string>>(&value);
      if (names == nullptr || names->empty() || std::ranges::any_of(*names, &std::string::empty)) return bad();
      for (auto each = names->begin(); each != names->end(); ++each) {
        if (std::find(names->begin(), each, *each) == each) continue;
        return fail(error_code::value_out_of_range, where, std::string(option.name) + ": names \"" + *each + "\" twice",
                    "name it once");
      }
      return {};
    }
    case data_value::toggle:
      if (!std::holds_alternative<bool>(value)) return bad();
      return {};
  }
  return {};
}

expected<data_option_value> value_of_items(const data_option& option, const std::vector<std::string>& items,
                                           const std::string& text, const std::string& where) {
  switch (option.form) {
    case data_value::text:
    case data_value::choice:
      return data_option_value(items.front());
    case data_value::count:
      if (const auto count = number_in<std::int64_t>(items.front())) return data_option_value(*count);
      return bad_value(option, text, where);
    case data_value::numbers:
      return read_numbers(option, items, text, where);
    case data_value::names:
      return data_option_value(items);
    case data_value::toggle:
      if (items.front() == "true") return data_option_value(true);
      if (items.front() == "false") return data_option_value(false);
      return bad_value(option, text, where);
  }
  return bad_value(option, text, where);
}

expected<data_option_value> parse_data_flag(const data_option& option, std::string_view text,
                                            const std::string& where) {
  const bool is_list = option.form == data_value::numbers || option.form == data_value::names;
  std::vector<std::string> items = {std::string(text)};
  if (is_list) {
    const auto marked = marked_text::read(text, ",");
    if (!marked) return bad_value(option, std::string(text), where);
    items.clear();
    for (const marked_text& each : marked->split(',')) items.push_back(each.text());
  }
  data_option_value value = TROUPE_TRY(value_of_items(option, items, std::string(text), where));
  TROUPE_TRY(check_data_value(option, value, where));
  return value;
}

}  // namespace troupe
