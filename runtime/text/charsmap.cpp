#include "runtime/text/charsmap.hpp"

#include <cstring>

#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

std::size_t offset_of_unit(std::uint32_t unit) {
  return static_cast<std::size_t>(unit >> 10) << ((unit & 1U << 9) >> 6);
}

}  // namespace

expected<charsmap> charsmap::from_bytes(std::string bytes, const std::string& where) {
  if (bytes.empty()) return charsmap();
  const auto wrong = [&] { return unusable(where, "the table of characters (precompiled_charsmap) is damaged"); };
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size) return wrong();
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size > bytes.size() - sizeof size || size % 4 != 0) return wrong();
  std::vector<std::uint32_t> units(size / 4);
  if (size > 0) std::memcpy(units.data(), bytes.data() + sizeof size, size);
  bytes.erase(0, sizeof size + size);
  if (utf8::invalid_utf8_at(bytes) != std::string::npos) return wrong();
  return charsmap(std::move(units), std::move(bytes));
}

std::optional<std::string_view> charsmap::text_at(std::size_t node) const {
  if (node >= units_.size()) return std::nullopt;
  const std::size_t at = units_[node] & 0x7FFFFFFF;
  if (at >= texts_.size() || utf8::is_continuation(texts_[at])) return std::nullopt;
  return std::string_view(texts_.c_str() + at);
}

template <class Take>
void charsmap::walk(std::string_view part, const Take& take) const {
  if (units_.empty()) return;
  std::size_t node = offset_of_unit(units_[0]);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto byte = static_cast<unsigned char>(part[i]);
    if (byte == 0) return;
    node ^= byte;
    if (node >= units_.size() || (units_[node] & 0x800000FF) != byte) return;
    const std::uint32_t unit = units_[node];
    node ^= offset_of_unit(unit);
    if ((unit >> 8 & 1U) == 0) continue;
    const auto text = text_at(node);
    if (text && !take(i + 1, *text)) return;
  }
}

std::optional<std::string_view> charsmap::first(std::string_view part) const {
  std::optional<std::string_view> found;
  walk(part, [&](std::size_t /*length*/, std::string_view text) {
    found = text;
    return false;
  });
  return found;
}

charsmap::replacement charsmap::longest(std::string_view part) const {
  replacement found;
  walk(part, [&](std::size_t length, std::string_view text) {
    found = {length, text};
    return true;
  });
  return found;
}

}  // namespace troupe
