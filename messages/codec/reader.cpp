#include "messages/codec/reader.hpp"

namespace troupe::codec {

void reader::read(std::string& value) {
  value.clear();
  const auto found = take(item_type::string);
  if (!found) return;
  const auto content = input_.subspan(found->end, static_cast<std::size_t>(found->value));
  value.assign(reinterpret_cast<const char*>(content.data()), content.size());
  offset_ += content.size();
}

void reader::read(std::vector<std::byte>& value) {
  value.clear();
  const auto found = take(item_type::binary);
  if (!found) return;
  const auto content = input_.subspan(found->end, static_cast<std::size_t>(found->value));
  value.assign(content.begin(), content.end());
  offset_ += content.size();
}

void reader::read(stop_mode& value) {
  value = static_cast<stop_mode>(number(static_cast<std::uint64_t>(stop_mode::abort)));
}

void reader::read(score_content& value) {
  value = static_cast<score_content>(number(static_cast<std::uint64_t>(score_content::step_loss)));
}

void reader::read(error_code& value) {
  const std::size_t at = offset_;
  const std::string digits = std::to_string(number(std::numeric_limits<std::uint16_t>::max()));
  const auto code = parse_code(digits);
  if (!code) refuse(error_code::wire_malformed, at, "error code " + digits + " does not exist");
  value = code.value_or(error_code::internal);
}

std::uint64_t reader::number(std::uint64_t most) {
  const std::size_t at = offset_;
  const auto found = take(item_type::unsigned_integer);
  if (!found) return 0;
  if (found->value <= most) return found->value;
  refuse(error_code::wire_malformed, at,
         "number " + std::to_string(found->value) + ", at most " + std::to_string(most) + " fits here");
  return 0;
}

std::uint64_t reader::array(std::size_t most) {
  const std::size_t at = offset_;
  const auto found = take(item_type::array);
  if (!found) return 0;
  if (found->value <= most) return found->value;
  refuse(error_code::wire_too_large, at,
         "array of " + std::to_string(found->value) + " items, the limit here is " + std::to_string(most));
  return 0;
}

void reader::array_of(std::size_t items) {
  const std::size_t at = offset_;
  const auto found = take(item_type::array);
  if (!found || found->value == items) return;
  refuse(error_code::wire_malformed, at,
         "array of " + std::to_string(found->value) + " fields, expected " + std::to_string(items));
}

bool reader::skip_nil() {
  if (problem_) return true;
  const auto found = find_head(input_, offset_);
  if (!found || found->type != item_type::nil) return false;
  offset_ = found->end;
  return true;
}

std::optional<head> reader::take(item_type type) {
  if (problem_) return std::nullopt;
  const auto found = find_head(input_, offset_);
  if (!found) {
    problem_ = read_head(input_, offset_).error();
    return std::nullopt;
  }
  if (found->type != type) {
    refuse(error_code::wire_malformed, offset_,
           "expected " + std::string(name_of(type)) + ", found " + std::string(name_of(found->type)));
    return std::nullopt;
  }
  offset_ = found->end;
  return *found;
}

void reader::refuse(error_code code, std::size_t offset, std::string cause) {
  if (!problem_) problem_ = fail_at(code, offset, std::move(cause)).value();
}

}  // namespace troupe::codec
