#include "runtime/json/json_part.hpp"

#include <limits>

#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/json/json_number.hpp"

namespace troupe {

tl::unexpected<error> json_part::wrong(const std::string& finding) const {
  return fail(error_code::model_unreadable, where_, "the file is damaged: " + place_ + " " + finding, copy_again_fix);
}

expected<std::optional<json_part>> json_part::find(std::string_view key) const {
  if (!value_->is_object()) return wrong("is no object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return inside(*found, "." + std::string(key));
}

bool json_part::has_null(std::string_view key) const {
  const auto found = value_->find(key);
  return value_->is_object() && found != value_->end() && found->is_null();
}

expected<json_part> json_part::at(std::string_view key) const {
  const auto found = TROUPE_TRY(find(key));
  if (!found) return wrong("has no member " + std::string(key));
  return *found;
}

expected<std::vector<json_part>> json_part::items() const {
  if (!value_->is_array()) return wrong("is no array");
  std::vector<json_part> parts;
  parts.reserve(value_->size());
  for (const nlohmann::json& each : *value_) parts.push_back(inside(each, "[" + std::to_string(parts.size()) + "]"));
  return parts;
}

expected<std::vector<std::pair<std::string, json_part>>> json_part::members() const {
  if (!value_->is_object()) return wrong("is no object");
  std::vector<std::pair<std::string, json_part>> parts;
  for (const auto& [key, value] : value_->items()) parts.emplace_back(key, inside(value, "." + key));
  return parts;
}

expected<tagged_part> json_part::tagged() const {
  if (!value_->is_object() || value_->size() != 1) return wrong("is no object with one member");
  const auto only = value_->begin();
  return tagged_part{only.key(), inside(only.value(), "." + only.key())};
}

expected<std::string> json_part::text() const {
  if (!value_->is_string()) return wrong("is no text");
  return value_->get<std::string>();
}

expected<std::int64_t> json_part::integer() const {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value_->is_number_integer() || (value_->is_number_unsigned() && value_->get<std::uint64_t>() > largest)) {
    return wrong("is no whole number of 64 bits");
  }
  return value_->get<std::int64_t>();
}

expected<double> json_part::real() const {
  if (const auto number = number_in_json(*value_)) return *number;
  return wrong("is no number");
}

expected<bool> json_part::truth() const {
  if (!value_->is_boolean()) return wrong("is neither true nor false");
  return value_->get<bool>();
}

expected<std::vector<std::string>> texts_of(const json_part& list) {
  std::vector<std::string> texts;
  for (const json_part& each : TROUPE_TRY(list.items())) texts.push_back(TROUPE_TRY(each.text()));
  return texts;
}

expected<bool> truth_or(const json_part& part, std::string_view key, bool otherwise) {
  const auto found = TROUPE_TRY(part.find(key));
  if (!found) return otherwise;
  return found->truth();
}

expected<std::string> text_or(const json_part& part, std::string_view key, const std::string& otherwise) {
  const auto found = TROUPE_TRY(part.find(key));
  if (!found) return otherwise;
  return found->text();
}

}  // namespace troupe
