#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/text/token_table.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Most tokens and merges of a vocabulary. The largest published ones have about 900,000 and 600,000.
inline constexpr std::size_t tokens_max = 1u << 20;
inline constexpr std::size_t merges_max = 1u << 20;

/// Bytes of all regular expressions of a file. One that may ignore case counts so many times: compiled, it takes up to
/// 23,000 times its bytes, (?i)[\w][\w]..., and others up to 4200.
inline constexpr std::size_t expression_bytes_max = 8u << 10;
inline constexpr std::size_t expression_without_case = 6;
/// Bytes of all added tokens and replacements, which are kept several times.
inline constexpr std::size_t added_bytes_max = 4u << 20;

/// Pairs of texts behind each other in one block.
class merge_list {
 public:
  void add(std::string_view left, std::string_view right) {
    texts_.append(left).append(right);
    lengths_.emplace_back(static_cast<std::uint32_t>(left.size()), static_cast<std::uint32_t>(right.size()));
  }
  [[nodiscard]] std::size_t size() const noexcept { return lengths_.size(); }
  /// Calls take(left, right), which gives an expected<void>, for each pair in its order.
  template <class Take>
  expected<void> for_each(const Take& take) const {
    std::size_t at = 0;
    for (const auto& [left, right] : lengths_) {
      const std::string_view texts(texts_);
      if (auto done = take(texts.substr(at, left), texts.substr(at + left, right)); !done) return done;
      at += left + right;
    }
    return {};
  }

 private:
  std::string texts_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lengths_;
};

/// A tokenizer.json: its vocabulary and merges, which have no JSON values in memory, and everything else.
struct tokenizer_file {
  nlohmann::json rest;
  token_table vocabulary;
  /// By row, where the vocabulary is a list with scores.
  std::vector<double> scores = {};
  bool has_vocabulary = false;
  bool has_scores = false;
  bool has_merges = false;
  merge_list merges = {};
};

/// Errors: E0210 no JSON or a vocabulary of another form; E0214 beyond the limits.
expected<tokenizer_file> parse_tokenizer_file(std::string_view text, const std::string& where);
/// A vocab.json: an object of tokens with their ids.
expected<token_table> parse_vocabulary(std::string_view text, const std::string& where);

}  // namespace troupe
