#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "runtime/text/code_point_set.hpp"
#include "runtime/text/regex_tree.hpp"
#include "runtime/text/utf8.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe::regex {

/// Steps of all searches in a text, in all and for each of its bytes: what takes more is an error, so that no
/// expression runs for a time that the length of its text does not bound.
inline constexpr std::uint64_t steps_max = 1'000'000;
inline constexpr std::uint64_t steps_per_byte_max = 500;

/// A regular expression with the meaning that it has in the `tokenizers` package: Oniguruma's, its edition of Unicode,
/// and the first alternative that fits rather than the longest one. Threads: any.
class expression {
 public:
  /// The error says which part is broken or not supported.
  static tl::expected<expression, std::string> compile(std::string_view pattern);

  /// Calls `take(match)` for each match in `text`, which is UTF-8, in ascending order. False where a search took too
  /// many steps; the matches before it were taken.
  template <class Take>
  [[nodiscard]] bool find_all(std::string_view text, const Take& take) const {
    search state(*this, text);
    std::size_t from = 0;
    std::optional<std::size_t> last_end;
    while (from <= text.size()) {
      const auto found = state.first_from(from);
      if (state.is_exhausted()) return false;
      if (!found) return true;
      if (found->begin == found->end && last_end == found->end) {
        from += from < text.size() ? utf8_length(text[from]) : 1;
        continue;
      }
      take(*found);
      from = found->end;
      last_end = found->end;
    }
    return true;
  }

 private:
  enum class operation : std::uint8_t {
    set,
    repeat_greedy,
    repeat_lazy,
    repeat_possessive,
    split,
    jump,
    look_ahead,
    look_behind,
    atomic,
    line_begin,
    line_end,
    text_begin,
    text_end,
    text_end_or_newline,
    word_edge,
    accept
  };
  struct instruction {
    operation what = operation::accept;
    bool is_negated = false;
    std::uint32_t set = 0;
    /// For a split: the way to take when the first one, behind it, does not fit. Else: where to go on behind a part
    /// that ends in `accept`.
    std::uint32_t other = 0;
    std::size_t least = 0;
    std::size_t most = 0;
    /// For a split: first bytes of the two ways.
    std::uint32_t first_bytes = 0;
  };
  struct two_ways {
    std::bitset<256> first;
    std::bitset<256> other;
    bool first_may_be_empty = true;
    bool other_may_be_empty = true;
  };
  class compiler;
  class search {
   public:
    search(const expression& of, std::string_view text)
        : of_(of), text_(text), steps_left_(static_cast<std::int64_t>(steps_max + steps_per_byte_max * text.size())) {}
    std::optional<text_span> first_from(std::size_t from);
    [[nodiscard]] bool is_exhausted() const noexcept { return steps_left_ < 0; }

   private:
    struct choice {
      std::uint32_t at = 0;
      std::uint32_t set = 0;
      std::size_t position = 0;
      /// How far a greedy repeat goes back, or how many characters a lazy one may still take.
      std::size_t bound = 0;
      bool is_lazy = false;
    };
    std::optional<std::size_t> fit(std::uint32_t at, std::size_t position);
    bool step(std::uint32_t& at, std::size_t& position);
    bool choose(const instruction& now, std::uint32_t& at, std::size_t position);
    bool repeat(const instruction& now, std::uint32_t& at, std::size_t& position);
    bool retry(std::size_t floor, std::uint32_t& at, std::size_t& position);
    bool fits_behind(const instruction& now, std::uint32_t at, std::size_t position);
    [[nodiscard]] bool takes(std::uint32_t set, std::size_t& position) const;
    [[nodiscard]] bool is_word_at(std::size_t position) const;

    const expression& of_;
    std::string_view text_;
    std::vector<choice> choices_;
    std::int64_t steps_left_;
  };

  static std::size_t utf8_length(char byte) noexcept { return utf8::length_from(byte); }

  std::vector<instruction> code_;
  std::vector<code_point_set> sets_;
  std::vector<two_ways> ways_;
};

}  // namespace troupe::regex
