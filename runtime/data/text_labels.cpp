#include "runtime/data/text_labels.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/data/table_classes.hpp"
#include "runtime/data/table_text.hpp"

namespace troupe {

expected<void> text_labels::add(const table_cell& cell, const std::string& place) {
  if (!cell) {
    return fail(error_code::data_bad_format, place, "there is no label",
                "fill it, or leave out such rows, with the option skip-empty");
  }
  if (are_numbers_) {
    const auto number = table_number<float>(*cell);
    if (!number) {
      return fail(error_code::data_bad_format, place, "expected a number, found \"" + shown_cell(*cell) + "\"",
                  "correct it, or name the column as one of classes, label=NAME");
    }
    numbers_.push_back(*number);
    return {};
  }
  const auto at = places_.find(*cell);
  if (at != places_.end()) {
    names_.push_back(at->second);
    return {};
  }
  if (found_.size() == table_classes::names_max) {
    return fail(error_code::data_label_out_of_range, place,
                "there are more than " + std::to_string(table_classes::names_max) + " different labels",
                "name the column that has the classes, label=NAME, or one of numbers, target=NAME");
  }
  places_.emplace(*cell, static_cast<std::uint32_t>(found_.size()));
  names_.push_back(static_cast<std::uint32_t>(found_.size()));
  found_.push_back({*cell, place});
  return {};
}

expected<void> text_labels::decide(const std::string& path) {
  if (are_numbers_) return {};
  const bool are_whole = std::ranges::all_of(
      found_, [](const found_name& each) { return table_number<std::int64_t>(each.name).has_value(); });
  const std::vector<std::string>& list = !given_.empty() || are_whole ? given_ : known_;
  table_classes chosen(list);
  for (const found_name& each : found_) TROUPE_TRY(chosen.add(each.name, each.place));
  TROUPE_TRY(chosen.decide(path));
  for (const found_name& each : found_) numbers_of_names_.push_back(chosen.class_of(each.name).value_or(0));
  classes_ = std::max(chosen.count(), static_cast<std::uint32_t>(given_.empty() ? known_.size() : 0));
  return {};
}

}  // namespace troupe
