#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "messages/check.hpp"
#include "messages/explanations/input.hpp"
#include "messages/explanations/operation.hpp"
#include <troupe/error_code.hpp>

namespace troupe {
namespace {

constexpr auto table = [] {
  using explanations::input, explanations::operation;
  std::array<error_explanation, input.size() + operation.size()> all{};
  std::ranges::copy(input, all.begin());
  std::ranges::copy(operation, all.begin() + input.size());
  return all;
}();

// strictly ascending, that is in order and each once; that none is missing is tested
// (tests/messages/error_code_test.cpp)
static_assert(std::ranges::adjacent_find(table, std::greater_equal<>{}, &error_explanation::code) == table.end(),
              "explanations stand in numeric order, each once");

const error_explanation* find(std::uint16_t number) noexcept {
  const auto at = std::ranges::lower_bound(table, static_cast<error_code>(number), {}, &error_explanation::code);
  return at != table.end() && static_cast<std::uint16_t>(at->code) == number ? at : nullptr;
}

}  // namespace

std::span<const error_explanation> all_error_explanations() {
  return table;
}

const error_explanation& explain(error_code code) {
  const error_explanation* found = find(static_cast<std::uint16_t>(code));
  TROUPE_CHECK(found != nullptr, "every enumerator of error_code has an explanation");
  return *found;
}

std::string code_name(error_code code) {
  std::string digits = std::to_string(static_cast<std::uint16_t>(code));
  digits.insert(0, digits.size() < 4 ? 4 - digits.size() : 0, '0');
  digits.insert(digits.begin(), 'E');
  return digits;
}

std::optional<error_code> parse_code(std::string_view text) {
  if (!text.empty() && (text.front() == 'E' || text.front() == 'e')) text.remove_prefix(1);
  std::uint16_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  const error_explanation* found = find(number);
  return found == nullptr ? std::nullopt : std::optional(found->code);
}

}  // namespace troupe
