#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/named_tensors.hpp>
#include <troupe/tokenizer.hpp>

namespace troupe {

/// The label of a token that is not scored: what torch.nn.functional.cross_entropy leaves out.
inline constexpr std::int64_t not_scored = -100;
/// Tokens that one data set keeps, 4 bytes each.
inline constexpr std::uint64_t tokens_kept_max = std::uint64_t{1} << 30;

/// The token ids of many samples behind each other: 4 bytes for each token, 8 for each sample, and 1 more for each
/// token where some have another type than 0.
class token_rows {
 public:
  /// `types` has as many entries as `ids`, or none. Errors: E0303 beyond tokens_kept_max, which names `place`.
  expected<void> add(std::span<const token_id> ids, std::span<const std::uint32_t> types, const std::string& place);

  [[nodiscard]] std::uint64_t size() const noexcept { return begins_.size() - 1; }
  [[nodiscard]] std::uint64_t longest() const noexcept { return longest_; }
  [[nodiscard]] bool are_alike() const noexcept { return longest_ == shortest_; }
  [[nodiscard]] std::span<const token_id> ids(std::uint64_t row) const;
  /// Tokens of the longest sample of a range that is not empty.
  [[nodiscard]] std::uint64_t longest_of(sample_range range) const;

  /// input_ids, attention_mask and token_type_ids, those that `names` has, int64 [samples, length]. A shorter sample
  /// has `padding` behind it, with 0 in the mask and as the type. `where` is what E0604 names.
  [[nodiscard]] expected<named_tensors> inputs(sample_range range, std::uint64_t length,
                                               const std::vector<std::string>& names, token_id padding,
                                               const std::string& where) const;

 private:
  void fill(std::uint64_t row, const std::string& name, token_id padding, std::span<std::int64_t> into) const;

  std::vector<token_id> ids_;
  /// As long as ids_, or empty while all types are 0.
  std::vector<std::uint8_t> types_;
  std::vector<std::uint64_t> begins_ = {0};
  std::uint64_t longest_ = 0;
  std::uint64_t shortest_ = UINT64_MAX;
};

}  // namespace troupe
