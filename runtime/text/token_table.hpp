#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/tokenizer.hpp>

namespace troupe {

/// The tokens of a vocabulary. Each has a row, by which models name it, and an id, which users see. Its texts lie
/// behind each other in one block, so that a table takes little more memory than the file that it comes from.
class token_table {
 public:
  using row = std::uint32_t;
  static constexpr row none = std::numeric_limits<row>::max();

  /// A text that stands there already gets the new id. At most 4 GiB of texts, and none longer than 4 GiB.
  void add(std::string_view text, token_id id);

  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] std::string_view text(row of) const noexcept {
    return std::string_view(texts_).substr(starts_[of], starts_[of + 1] - starts_[of]);
  }
  [[nodiscard]] token_id id(row of) const noexcept { return ids_[of]; }
  [[nodiscard]] std::size_t longest_bytes() const noexcept { return longest_bytes_; }

  /// The row of a text, else none.
  [[nodiscard]] row find(std::string_view text) const noexcept { return find(text, hash(text)); }
  [[nodiscard]] row find(std::string_view text, std::uint64_t hashed) const noexcept {
    if (slots_.empty()) return none;
    for (std::size_t at = hashed & mask_;; at = (at + 1) & mask_) {
      const slot& there = slots_[at];
      if (there.at == none) return none;
      if (there.mark == static_cast<std::uint32_t>(hashed >> 32) && this->text(there.at) == text) return there.at;
    }
  }
  [[nodiscard]] row row_of(token_id id) const noexcept;
  /// Call it after the last add(), for row_of().
  void sort_ids();

  static std::uint64_t hash(std::string_view text) noexcept;

 private:
  struct slot {
    std::uint32_t mark = 0;
    row at = none;
  };
  void grow();
  void place(row at);

  std::string texts_;
  std::vector<std::size_t> starts_{0};
  std::vector<token_id> ids_;
  std::vector<slot> slots_;
  std::size_t mask_ = 0;
  std::size_t longest_bytes_ = 0;
  std::vector<std::pair<token_id, row>> by_id_;
};

}  // namespace troupe
