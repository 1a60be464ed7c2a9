#include "runtime/text/unigram_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

constexpr double unknown_penalty = 10.0;

/// A hash that grows byte by byte (FNV-1a).
class prefix_hash {
 public:
  void add(char byte) noexcept { state_ = (state_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3; }
  [[nodiscard]] std::uint64_t value() const noexcept {
    const std::uint64_t mixed = state_ * 0x9E3779B97F4A7C15;
    return mixed ^ mixed >> 32;
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325;
};

/// Finds all tokens that a text begins with. Two filters of bits say which hashes belong to beginnings of tokens, and
/// to whole ones; so most looks end in the cache.
class prefix_finder {
 public:
  explicit prefix_finder(const token_table& table) : table_(table) {
    std::size_t beginnings = 0;
    for (token_table::row row = 0; row < table.size(); ++row) beginnings += utf8::count(table.text(row));
    const std::size_t bits = std::bit_ceil(std::clamp<std::size_t>(beginnings * 8, 1U << 12, 1U << 24));
    begins_.resize(bits / 64);
    is_whole_.resize(bits / 64);
    bit_mask_ = bits - 1;
    rows_.assign(std::bit_ceil(std::max<std::size_t>(table.size() * 2, 2)), token_table::none);
    for (token_table::row row = 0; row < table.size(); ++row) add(row);
  }

  /// Calls take(row, end) for each token that begins at `from`, from the shortest one on.
  template <class Take>
  void find(std::string_view text, std::size_t from, const Take& take) const {
    prefix_hash hash;
    for (std::size_t at = from; at < text.size();) {
      const std::size_t end = at + utf8::length_from(text[at]);
      for (; at < end; ++at) hash.add(text[at]);
      const std::uint64_t value = hash.value();
      if (!is_set(begins_, value)) return;
      if (!is_set(is_whole_, value)) continue;
      const token_table::row row = look_up(value, text.substr(from, end - from));
      if (row != token_table::none) take(row, end);
    }
  }

 private:
  [[nodiscard]] bool is_set(const std::vector<std::uint64_t>& bits, std::uint64_t hash) const noexcept {
    const std::size_t bit = hash & bit_mask_;
    return (bits[bit / 64] >> bit % 64 & 1U) != 0;
  }
  void set(std::vector<std::uint64_t>& bits, std::uint64_t hash) const noexcept {
    const std::size_t bit = hash & bit_mask_;
    bits[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  [[nodiscard]] token_table::row look_up(std::uint64_t hash, std::string_view token) const noexcept {
    for (std::size_t at = hash & (rows_.size() - 1);; at = (at + 1) & (rows_.size() - 1)) {
      if (rows_[at] == token_table::none || table_.text(rows_[at]) == token) return rows_[at];
    }
  }
  void add(token_table::row row) {
    const std::string_view token = table_.text(row);
    prefix_hash hash;
    for (std::size_t at = 0; at < token.size();) {
      const std::size_t end = std::min(at + utf8::length_from(token[at]), token.size());
      for (; at < end; ++at) hash.add(token[at]);
      set(begins_, hash.value());
    }
    set(is_whole_, hash.value());
    std::size_t to = hash.value() & (rows_.size() - 1);
    while (rows_[to] != token_table::none) to = (to + 1) & (rows_.size() - 1);
    rows_[to] = row;
  }

  const token_table& table_;
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> is_whole_;
  std::size_t bit_mask_ = 0;
  std::vector<token_table::row> rows_;
};

class unigram_model : public token_model {
 public:
  unigram_model(token_table all, std::vector<double> scores, std::optional<token_table::row> unknown,
                bool has_byte_fallback, bool adds_in_float)
      : token_model(std::move(all)),
        scores_(std::move(scores)),
        unknown_(unknown.value_or(token_table::none)),
        has_byte_fallback_(has_byte_fallback),
        adds_in_float_(adds_in_float),
        finder_(table()) {
    double least = std::numeric_limits<double>::infinity();
    for (const double score : scores_) least = score < least ? score : least;
    unknown_score_ = least - unknown_penalty;
    for (std::size_t byte = 0; byte < fallbacks_.size(); ++byte) {
      std::array<char, 8> name{};
      std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(byte));
      fallbacks_[byte] = table().find(name.data());
    }
  }

  bool tokenize(std::string_view word, std::vector<model_token>& to) const override {
    static thread_local std::vector<node> best;
    if (!find_best(word, best)) return false;
    static thread_local std::vector<model_token> parts;
    parts.clear();
    for (auto end = static_cast<std::uint32_t>(word.size()); end > 0;) {
      const node& last = best[end];
      const bool is_unknown = last.row == unknown_;
      if (is_unknown && !parts.empty() && parts.back().row == unknown_) {
        parts.back().begin = last.begin;
      } else {
        parts.push_back({last.row, last.begin, end});
      }
      end = last.begin;
    }
    std::ranges::reverse(parts);
    for (const model_token& part : parts) {
      if (!put(word, part, to)) return false;
    }
    return true;
  }

 private:
  /// The best way to the end of a character.
  struct node {
    double score = 0;
    std::uint32_t begin = no_begin;
    token_table::row row = token_table::none;
  };
  static constexpr std::uint32_t no_begin = 0xFFFFFFFF;

  [[nodiscard]] double sum(double a, double b) const noexcept {
    return adds_in_float_ ? static_cast<double>(static_cast<float>(a) + static_cast<float>(b)) : a + b;
  }

  bool find_best(std::string_view word, std::vector<node>& best) const {
    best.assign(word.size() + 1, {});
    for (std::size_t at = 0; at < word.size();) {
      const double score_here = best[at].score;
      const std::size_t behind = at + utf8::length_from(word[at]);
      bool has_single = false;
      const auto offer = [&](token_table::row row, std::size_t end, double score) {
        node& there = best[end];
        if (there.begin == no_begin || score > there.score) there = {score, static_cast<std::uint32_t>(at), row};
      };
      finder_.find(word, at, [&](token_table::row row, std::size_t end) {
        // No text has a token without a score.
        if (std::isnan(scores_[row])) return;
        offer(row, end, sum(scores_[row], score_here));
        has_single = has_single || end == behind;
      });
      if (!has_single) {
        if (unknown_ == token_table::none &&
            (best[behind].begin == no_begin || unknown_score_ + score_here > best[behind].score))
          return false;
        offer(unknown_, behind, sum(unknown_score_, score_here));
      }
      at = behind;
    }
    return true;
  }

  /// Unknown characters may be a token all the same, when characters are taken together, or have tokens for its bytes.
  bool put(std::string_view word, const model_token& part, std::vector<model_token>& to) const {
    if (part.row != unknown_ || unknown_ == token_table::none) {
      to.push_back(part);
      return true;
    }
    const std::string_view text = word.substr(part.begin, part.end - part.begin);
    const token_table::row known = table().find(text);
    if (known == token_table::none && has_byte_fallback_) {
      const auto fallback = [&](char byte) { return fallbacks_[static_cast<unsigned char>(byte)]; };
      const bool has_all = std::ranges::all_of(text, [&](char b) { return fallback(b) != token_table::none; });
      if (has_all) {
        for (const char byte : text) to.push_back({fallback(byte), part.begin, part.end});
        return true;
      }
    }
    to.push_back({known == token_table::none ? unknown_ : known, part.begin, part.end});
    return true;
  }

  std::vector<double> scores_;
  token_table::row unknown_;
  bool has_byte_fallback_;
  bool adds_in_float_;
  prefix_finder finder_;
  double unknown_score_ = 0;
  std::array<token_table::row, 256> fallbacks_{};
};

}  // namespace

std::unique_ptr<const token_model> make_unigram(token_table table, std::vector<double> scores,
                                                std::optional<token_table::row> unknown, bool has_byte_fallback,
                                                bool adds_in_float) {
  return std::make_unique<unigram_model>(std::move(table), std::move(scores), unknown, has_byte_fallback,
                                         adds_in_float);
}

}  // namespace troupe
