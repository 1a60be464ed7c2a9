#include "tests/protocol/state_set.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::testing {
namespace {

/// Eight bytes at a time, mixed as in splitmix64; states are padded with zeros.
std::uint64_t hash_of(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, size - at));
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

state_set::state_set(std::size_t state_size) : state_size_(state_size), table_(64, empty_slot) {}

std::size_t state_set::slot_of(const std::uint8_t* state) const noexcept {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash_of(state, state_size_) & mask;
  while (table_[slot] != empty_slot && std::memcmp(&bytes_[table_[slot] * state_size_], state, state_size_) != 0) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::pair<std::uint32_t, bool> state_set::insert(std::span<const std::uint8_t> state) {
  const std::size_t slot = slot_of(state.data());
  if (table_[slot] != empty_slot) return {table_[slot], false};
  table_[slot] = count_;
  bytes_.insert(bytes_.end(), state.begin(), state.begin() + static_cast<std::ptrdiff_t>(state_size_));
  if (++count_ * std::size_t{2} > table_.size()) grow();
  return {count_ - 1, true};
}

void state_set::grow() {
  table_.assign(table_.size() * 4, empty_slot);
  for (std::uint32_t number = 0; number < count_; ++number) {
    table_[slot_of(&bytes_[number * state_size_])] = number;
  }
}

std::span<const std::uint8_t> state_set::at(std::uint32_t number) const noexcept {
  return std::span(bytes_).subspan(number * state_size_, state_size_);
}

}  // namespace troupe::testing
