#include "runtime/data/table_classes.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/data/table_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

tl::unexpected<error> no_class(const std::string& place, std::string cause, std::string fix) {
  return fail(error_code::data_label_out_of_range, place, std::move(cause), std::move(fix));
}

constexpr const char* as_target = "name the column as one of numbers, target=NAME, or give whole numbers from 0 on";

}  // namespace

std::optional<std::int64_t> class_number(const std::string& label) {
  if (const auto whole = table_number<std::int64_t>(label)) return whole;
  const auto real = table_number<double>(label);
  if (!real || std::trunc(*real) != *real || std::abs(*real) > INT32_MAX) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

table_classes::table_classes(const std::vector<std::string>& given) : is_given_(!given.empty()) {
  for (const std::string& each : given) names_.emplace(each, static_cast<std::int64_t>(names_.size()));
}

expected<void> table_classes::add(const std::string& label, const std::string& place) {
  if (is_given_) {
    if (names_.contains(label)) return {};
    std::vector<std::string> known;
    for (const auto& [name, number] : names_) known.push_back(name);
    return no_class(place, "\"" + shown_cell(label) + "\" is none of the classes that were given",
                    suggest_fix(label, known));
  }
  if (const auto number = class_number(label)) {
    if (least_place_.empty() || *number < least_) {
      least_ = *number;
      least_place_ = place;
    }
    greatest_ = std::max(greatest_, *number);
    if (*number >= INT32_MAX && are_numbers_) {
      return no_class(place, "expected an integer label from 0 to " + std::to_string(INT32_MAX) + ", found " + label,
                      as_target);
    }
  } else {
    if (are_numbers_) first_name_ = label;
    if (are_numbers_) first_name_place_ = place;
    are_numbers_ = false;
    if (table_number<double>(label)) {
      return no_class(place, "\"" + shown_cell(label) + "\" is a number, and no whole one", as_target);
    }
  }
  if (is_overfull_ && are_numbers_) return {};
  if (!is_overfull_ && names_.emplace(label, 0).second) name_bytes_ += label.size();
  is_overfull_ = is_overfull_ || names_.size() > names_max || name_bytes_ > name_bytes_max;
  if (!is_overfull_ || are_numbers_) return {};
  return no_class(first_name_place_,
                  "labels are names, as \"" + shown_cell(first_name_) + "\" is, and there are more than " +
                      std::to_string(names_max) + " of them, or " + std::to_string(name_bytes_max) + " bytes",
                  "name the column that has the classes, as in label=NAME");
}

expected<void> table_classes::decide(const std::string& place) {
  if (!is_given_ && are_numbers_) {
    names_.clear();
    if (least_ < 0) {
      return no_class(
          least_place_,
          "expected an integer label from 0 to " + std::to_string(INT32_MAX) + ", found " + std::to_string(least_),
          "leave out the samples with this label, ignore=" + std::to_string(least_) + ", or " + as_target);
    }
    count_ = static_cast<std::uint32_t>(greatest_ + 1);
    return {};
  }
  if (!is_given_) {
    std::int64_t next = 0;
    for (auto& [name, number] : names_) number = next++;
  }
  if (names_.empty()) return no_class(place, "there is no label", "give the labels");
  are_numbers_ = false;
  count_ = static_cast<std::uint32_t>(names_.size());
  return {};
}

std::optional<std::int64_t> table_classes::class_of(const std::string& label) const {
  if (are_numbers_) return class_number(label);
  const auto found = names_.find(label);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace troupe
