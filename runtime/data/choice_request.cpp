#include "runtime/data/choice_request.hpp"

#include "messages/try.hpp"
#include "runtime/data/table_text.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe {

namespace {

/// For the choices of the longest row.
constexpr std::uint64_t choices_memory_max = std::uint64_t{32} * table_row_bytes_max;
constexpr const char* expected_line =
    R"(write lines as {"context": "The cat eats", "choices": ["fish", "stones"], "gold": 0})";

tl::unexpected<error> bad_question(const std::string& place, std::string cause) {
  return fail(error_code::data_bad_format, place, std::move(cause), expected_line);
}

expected<std::vector<std::string>> read_choices(const std::string& cell, const std::string& place) {
  if (!cell.starts_with('[')) return bad_question(place, "expected an array of texts for \"choices\"");
  const nlohmann::json list = TROUPE_TRY(parse_json(cell, choices_memory_max, place, "choices"));
  std::vector<std::string> choices;
  for (const nlohmann::json& each : list) {
    if (!each.is_string()) return bad_question(place, "a choice is no text");
    choices.push_back(each.get<std::string>());
    if (choices.back().empty()) return bad_question(place, "a choice is empty");
  }
  if (choices.empty()) return bad_question(place, "there are no choices");
  if (choices.size() <= choices_max) return choices;
  return bad_question(place, "there are more than " + std::to_string(choices_max) + " choices");
}

}  // namespace

expected<choice_question> read_question(const table_cell& context, const table_cell& choices, const table_cell& gold,
                                        const std::string& place) {
  if (!context) return bad_question(place, "there is no \"context\"");
  if (!choices) return bad_question(place, "there are no \"choices\"");
  if (!gold) return bad_question(place, "there is no \"gold\"");
  choice_question made{.context = *context};
  made.choices = TROUPE_TRY(read_choices(*choices, place));
  const auto right = table_number<std::int64_t>(*gold);
  if (right && *right >= 0 && static_cast<std::uint64_t>(*right) < made.choices.size()) {
    made.gold = static_cast<std::uint32_t>(*right);
    return made;
  }
  return fail(
      error_code::data_label_out_of_range, place,
      "expected a \"gold\" from 0 to " + std::to_string(made.choices.size() - 1) + ", found " + shown_cell(*gold),
      "count the choices from 0");
}

std::string delimiter_of(const data_request& request) {
  const std::string name = request.options.text("delimiter").value_or("space");
  return name == "space" ? " " : name == "newline" ? "\n" : "";
}

std::size_t context_end(std::string_view context) {
  const std::size_t last = context.find_last_not_of(" \t\n\v\f\r");
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace troupe
