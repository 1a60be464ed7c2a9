#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::testing {

/// The states seen so far, numbered in the order they were added: their bytes one behind the other, and a hash table of
/// numbers with linear probing. Several times faster and smaller than a std::unordered_set, which decides how large a
/// graph can be explored at all.
class state_set {
 public:
  explicit state_set(std::size_t state_size);

  /// The state's number and whether it is new. Bytes of `state` behind its size are zero.
  std::pair<std::uint32_t, bool> insert(std::span<const std::uint8_t> state);
  /// Valid until the next insert().
  [[nodiscard]] std::span<const std::uint8_t> at(std::uint32_t number) const noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }

 private:
  static constexpr std::uint32_t empty_slot = UINT32_MAX;

  [[nodiscard]] std::size_t slot_of(const std::uint8_t* state) const noexcept;
  void grow();

  std::size_t state_size_;
  std::uint32_t count_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint32_t> table_;
};

}  // namespace troupe::testing
