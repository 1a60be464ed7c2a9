#include "runtime/data/text_labels.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/data/table_classes.hpp"
#include "runtime/data/table_numbers.hpp"
#include "runtime/data/table_text.hpp"

namespace troupe {

expected<void> text_labels::add(std::span<const std::string* const> cells, std::span<const std::string> columns,
                                const std::string& path, std::uint64_t line) {
  if (are_numbers_) return add_numbers(cells, columns, path, line);
  TROUPE_TRY(check_no_array(*cells.front(), {path, line, columns.front()}));
  return add_class(*cells.front(), table_place(path, line, columns.front()));
}

expected<void> text_labels::add_numbers(std::span<const std::string* const> cells, std::span<const std::string> columns,
                                        const std::string& path, std::uint64_t line) {
  const bool is_first = widths_.empty();
  if (is_first) numbers_in_row_ = 0;
  std::vector<float> numbers;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const cell_place place{path, line, columns[i], "target"};
    if (is_first) widths_.push_back(TROUPE_TRY(width_of_cell(*cells[i], place)));
    const std::int64_t numbers_in_cell = std::max<std::int64_t>(1, widths_[i]);
    if (is_first) numbers_in_row_ += numbers_in_cell;
    numbers.resize(static_cast<std::size_t>(numbers_in_cell));
    TROUPE_TRY(read_cell(*cells[i], widths_[i], place, std::span<float>(numbers)));
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }
  return {};
}

std::vector<std::int64_t> text_labels::shape() const {
  const bool is_one = widths_.size() == 1 && widths_.front() == 0;
  return is_one ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{numbers_in_row_};
}

expected<void> text_labels::add_class(const std::string& cell, const std::string& place) {
  const auto at = places_.find(cell);
  if (at != places_.end()) {
    names_.push_back(at->second);
    return {};
  }
  if (found_.size() == table_classes::names_max) {
    return fail(error_code::data_label_out_of_range, place,
                "there are more than " + std::to_string(table_classes::names_max) + " different labels",
                "name the column that has the classes, label=NAME, or one of numbers, target=NAME");
  }
  places_.emplace(cell, static_cast<std::uint32_t>(found_.size()));
  names_.push_back(static_cast<std::uint32_t>(found_.size()));
  found_.push_back({cell, place});
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
