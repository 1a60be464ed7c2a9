#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/token_model.hpp"

namespace troupe {

/// Which two tokens become which third one; a lower rank comes first.
class merge_table {
 public:
  struct merge {
    std::uint32_t rank = no_rank;
    token_table::row result = token_table::none;
  };
  static constexpr std::uint32_t no_rank = 0xFFFFFFFF;

  explicit merge_table(std::size_t count);
  /// The last merge of a pair holds.
  void add(token_table::row left, token_table::row right, const merge& of);
  [[nodiscard]] merge find(token_table::row left, token_table::row right) const noexcept {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = place_of(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].value;
      if (slots_[at].key == no_key) return {};
    }
  }

 private:
  struct slot {
    std::uint64_t key = no_key;
    merge value;
  };
  static constexpr std::uint64_t no_key = 0xFFFFFFFFFFFFFFFF;
  static std::uint64_t key_of(token_table::row left, token_table::row right) noexcept {
    return static_cast<std::uint64_t>(left) << 32 | right;
  }
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const noexcept {
    key *= 0x9E3779B97F4A7C15;
    return (key ^ key >> 32) & mask_;
  }

  std::vector<slot> slots_;
  std::size_t mask_ = 0;
};

struct bpe_options {
  std::optional<std::string> unknown = {};
  std::string prefix = {};  ///< of characters behind the first one
  std::string suffix = {};  ///< of the last character
  bool fuses_unknown = false;
  bool has_byte_fallback = false;
  /// A word that is a token is not cut.
  bool ignores_merges = false;
};

/// Characters of a word become longer tokens by merges in the order of their ranks (Sennrich et al.).
class bpe_model : public token_model {
 public:
  bpe_model(token_table table, merge_table merges, const bpe_options& options);

  [[nodiscard]] bool tokenize(std::string_view word, std::vector<model_token>& to) const override;
  [[nodiscard]] bool tokenize_bytes(std::string_view word, std::vector<model_token>& to) const override;

 private:
  struct symbol {
    token_table::row row = token_table::none;
    std::uint32_t bytes = 0;
  };
  struct unknown_run {
    bool is_open = false;
    std::uint32_t bytes = 0;
  };
  bool add_symbols(std::string_view word, std::vector<symbol>& symbols) const;
  bool add_unknown(std::uint32_t bytes, unknown_run& run, std::vector<symbol>& symbols) const;
  bool add_bytes(std::string_view part, std::vector<symbol>& symbols) const;
  void merge_all(std::vector<symbol>& symbols) const;
  void merge_few(std::vector<symbol>& symbols) const;
  void merge_many(std::vector<symbol>& symbols) const;
  static void put(const std::vector<symbol>& symbols, std::vector<model_token>& to);

  merge_table merges_;
  bpe_options options_;
  token_table::row unknown_ = token_table::none;
  /// The rows of "<0x00>" to "<0xFF>".
  std::array<token_table::row, 256> fallbacks_{};
  /// The rows of the characters that stand for bytes; all are there or `has_all_bytes_` is false.
  std::array<token_table::row, 256> bytes_{};
  bool has_all_bytes_ = true;
  /// The rows of single characters of ASCII.
  std::array<token_table::row, 128> ascii_{};
};

}  // namespace troupe
