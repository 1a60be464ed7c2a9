#include "runtime/text/token_table.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

constexpr std::uint64_t multiplier = 0x9E3779B97F4A7C15;

std::uint64_t mixed(std::uint64_t value) noexcept {
  value *= multiplier;
  return value ^ (value >> 29);
}

}  // namespace

std::uint64_t token_table::hash(std::string_view text) noexcept {
  std::uint64_t state = text.size() * multiplier;
  std::size_t at = 0;
  for (; text.size() - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    state = mixed(state ^ word);
  }
  std::uint64_t rest = 0;
  if (at < text.size()) std::memcpy(&rest, text.data() + at, text.size() - at);
  state = mixed(state ^ rest);
  return state ^ (state >> 32) * multiplier;
}

void token_table::add(std::string_view text, token_id id) {
  if (const row there = find(text); there != none) {
    ids_[there] = id;
    return;
  }
  texts_ += text;
  starts_.push_back(texts_.size());
  ids_.push_back(id);
  longest_bytes_ = std::max(longest_bytes_, text.size());
  if (ids_.size() * 2 > slots_.size()) {
    grow();
  } else {
    place(static_cast<row>(ids_.size() - 1));
  }
}

void token_table::place(row at) {
  const std::uint64_t hashed = hash(text(at));
  std::size_t to = hashed & mask_;
  while (slots_[to].at != none) to = (to + 1) & mask_;
  slots_[to] = {static_cast<std::uint32_t>(hashed >> 32), at};
}

void token_table::grow() {
  const std::size_t size = std::max<std::size_t>(16, slots_.size() * 2);
  slots_.assign(size, {});
  mask_ = size - 1;
  for (row at = 0; at < ids_.size(); ++at) place(at);
}

void token_table::sort_ids() {
  by_id_.clear();
  by_id_.reserve(ids_.size());
  for (row at = 0; at < ids_.size(); ++at) by_id_.emplace_back(ids_[at], at);
  std::ranges::sort(by_id_);
}

token_table::row token_table::row_of(token_id id) const noexcept {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, [](const auto& each) { return each.first; });
  return found != by_id_.end() && found->first == id ? found->second : none;
}

}  // namespace troupe
