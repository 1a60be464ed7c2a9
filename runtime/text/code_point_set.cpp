#include "runtime/text/code_point_set.hpp"

#include <algorithm>

#include <unicode/uniset.h>

#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

constexpr char32_t last_character = 0x10FFFF;

}  // namespace

range_set range_set::of_flag(unicode::flag wanted) {
  return of_classes([&](unicode::class_properties found) { return (found.flags & wanted) != 0; });
}

void range_set::append(char32_t first, char32_t last) {
  if (!ranges_.empty() && ranges_.back().second + 1 >= first) {
    ranges_.back().second = std::max(ranges_.back().second, last);
  } else {
    ranges_.emplace_back(first, last);
  }
}

void range_set::add(const range_set& other) {
  std::vector<range> all = std::move(ranges_);
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  std::ranges::sort(all);
  ranges_.clear();
  for (const auto& [first, last] : all) append(first, last);
}

void range_set::add_cases() {
  icu::UnicodeSet closed;
  for (const auto& [first, last] : ranges_) closed.add(static_cast<UChar32>(first), static_cast<UChar32>(last));
  closed.closeOver(USET_CASE_INSENSITIVE);
  range_set more;
  for (std::int32_t i = 0; i < closed.getRangeCount(); ++i) {
    more.append(static_cast<char32_t>(closed.getRangeStart(i)), static_cast<char32_t>(closed.getRangeEnd(i)));
  }
  add(more);
}

range_set range_set::complement() const {
  range_set others;
  char32_t next = 0;
  for (const auto& [first, last] : ranges_) {
    if (first > next) others.append(next, first - 1);
    next = last + 1;
  }
  if (next <= last_character) others.append(next, last_character);
  return others;
}

range_set range_set::intersection(const range_set& other) const {
  range_set outside = complement();
  outside.add(other.complement());
  return outside.complement();
}

std::bitset<256> range_set::first_bytes() const {
  std::bitset<256> bytes;
  const auto byte_of = [](char32_t c) { return static_cast<unsigned char>(utf8::text_of(c).front()); };
  for (const auto& [first, last] : ranges_) {
    for (unsigned byte = byte_of(first); byte <= byte_of(last); ++byte) bytes.set(byte);
  }
  return bytes;
}

code_point_set::code_point_set(const range_set& ranges) {
  std::vector<block> all(block_of_.size());
  for (const auto& [first, last] : ranges.ranges()) {
    for (char32_t c = first; c <= last; ++c) all[c >> 8].set(c & 0xFF);
  }
  blocks_.push_back(all.front());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = std::ranges::find(blocks_, all[i]);
    block_of_[i] = static_cast<std::uint16_t>(found - blocks_.begin());
    if (found == blocks_.end()) blocks_.push_back(all[i]);
  }
}

}  // namespace troupe
