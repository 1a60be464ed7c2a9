#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/aligned_text.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe {

/// What happens to the matches that split a text.
enum class split_behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// A part that is a match or what stands between two.
struct split_part {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool is_match = false;
};

/// A text on its way to tokens: it is normalized and cut into pieces.
class document {
 public:
  struct piece {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    /// Where its original begins.
    std::uint32_t origin = 0;
    bool is_token = false;
    token_id token = 0;
  };

  /// `original` must outlive it.
  explicit document(std::string_view original)
      : original_(original), text_(original), pieces_{{0, static_cast<std::uint32_t>(original.size())}} {}
  document(const document&) = delete;
  document& operator=(const document&) = delete;

  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::string_view text_of(const piece& of) const noexcept {
    return text_.substr(of.begin, of.end - of.begin);
  }
  [[nodiscard]] const std::vector<piece>& pieces() const noexcept { return pieces_; }

  /// Where in the original the bytes of a piece from `begin` to `end` (counted in the piece) come from.
  [[nodiscard]] text_span original_span(const piece& of, std::uint32_t begin, std::uint32_t end) const noexcept;

  /// Another text whose bytes stand for the same characters as those of the present one.
  void replace_in_place(std::string text);

  /// Calls `change(aligned_text&)`, which gives an expected<void>, for each piece that is no token.
  template <class Change>
  expected<void> rewrite(const Change& change) {
    aligned_text all;
    std::vector<piece> pieces;
    aligned_text part;
    for (const piece& old : pieces_) {
      take_part(old, part);
      if (!old.is_token) {
        if (auto done = change(part); !done) return done;
      }
      if (part.text.empty() && !old.is_token) continue;
      append(old, part, all, pieces);
    }
    adopt(std::move(all), std::move(pieces));
    return {};
  }

  /// Cuts each piece that is no token: `find(text, take)` calls take(begin, end) for each match, and gives false where
  /// it gave up. Gives that.
  template <class Find>
  bool split(split_behaviour behaviour, bool is_inverted, const Find& find) {
    std::vector<piece> pieces;
    pieces.reserve(pieces_.size() * 2);
    std::vector<split_part> parts;
    for (const piece& old : pieces_) {
      if (old.is_token) {
        pieces.push_back(old);
        continue;
      }
      parts.clear();
      const std::string_view text = text_of(old);
      std::uint32_t done = 0;
      const bool is_found = find(text, [&](std::size_t begin, std::size_t end) {
        if (begin > done) parts.push_back({done, static_cast<std::uint32_t>(begin), is_inverted});
        parts.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), !is_inverted});
        done = static_cast<std::uint32_t>(end);
      });
      if (!is_found) return false;
      if (done < text.size()) parts.push_back({done, static_cast<std::uint32_t>(text.size()), is_inverted});
      keep(old, parts, behaviour, pieces);
    }
    pieces_ = std::move(pieces);
    return true;
  }

  /// Replaces each piece that is no token by the parts that `cut(text, take)` gives to take(begin, end).
  template <class Cut>
  void cut_words(const Cut& cut) {
    std::vector<piece> pieces;
    pieces.reserve(pieces_.size() + text_.size() / 4);
    for (const piece& old : pieces_) {
      if (old.is_token) {
        pieces.push_back(old);
        continue;
      }
      cut(text_of(old), [&](std::size_t begin, std::size_t end) {
        if (end <= begin) return;
        pieces.push_back(inner(old, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), false, 0));
      });
    }
    pieces_ = std::move(pieces);
  }

  /// Cuts each piece that is no token into `cut(text)`: parts with a token or none.
  struct cut_part {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool is_token = false;
    token_id token = 0;
  };
  template <class Cut>
  void cut(const Cut& cut) {
    std::vector<piece> pieces;
    for (const piece& old : pieces_) {
      if (old.is_token) {
        pieces.push_back(old);
        continue;
      }
      for (const cut_part& part : cut(text_of(old))) {
        if (part.end > part.begin) pieces.push_back(inner(old, part.begin, part.end, part.is_token, part.token));
      }
    }
    pieces_ = std::move(pieces);
  }

 private:
  [[nodiscard]] piece inner(const piece& of, std::uint32_t begin, std::uint32_t end, bool is_token,
                            token_id token) const noexcept;
  void take_part(const piece& of, aligned_text& part) const;
  static void append(const piece& old, const aligned_text& part, aligned_text& all, std::vector<piece>& pieces);
  void adopt(aligned_text all, std::vector<piece> pieces);
  void keep(const piece& old, std::vector<split_part>& parts, split_behaviour behaviour, std::vector<piece>& to) const;

  std::string_view original_;
  std::string own_;
  /// The original or `own_`.
  std::string_view text_;
  /// Of each byte of the text; none where each byte stands at the place that it comes from.
  std::vector<text_span> spans_;
  bool is_aligned_ = true;
  std::vector<piece> pieces_;
};

}  // namespace troupe
