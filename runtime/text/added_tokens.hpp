#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/text/document.hpp"
#include "runtime/text/normalizer.hpp"
#include "runtime/text/token_table.hpp"

namespace troupe {

/// A token that is found in a text before a model sees it.
struct added_token {
  std::string content;
  bool is_single_word = false;
  bool strips_left = false;
  bool strips_right = false;
  /// It is looked for in the normalized text, in its own normal form.
  bool is_normalized = true;
  bool is_special = false;
};

/// The added tokens of a vocabulary. Threads: any, once it is made.
class added_tokens {
 public:
  /// Adds tokens in their order: one that `table` has keeps its id, others get the ids behind it.
  expected<void> add(const std::vector<added_token>& tokens, const token_table& table, const normalizer* normalize);

  /// Cuts those out that are looked for in the text as it is, and those in the normalized text.
  void cut_raw(document& text) const;
  void cut_normalized(document& text) const;

  [[nodiscard]] const std::unordered_map<std::string, token_id>& ids() const noexcept { return ids_; }
  [[nodiscard]] const std::unordered_map<token_id, std::string>& contents() const noexcept { return contents_; }
  [[nodiscard]] bool is_special(const std::string& content) const { return specials_.contains(content); }

 private:
  struct wanted {
    std::string text;
    added_token token;
    token_id id = 0;
  };
  /// Finds the longest of several texts at a place.
  class finder {
   public:
    void add(wanted one);
    void finish();
    void cut(document& text) const;

   private:
    [[nodiscard]] const wanted* longest_at(std::string_view text, std::size_t at) const;
    std::vector<document::cut_part> parts_of(std::string_view text) const;

    std::vector<wanted> all_;
    /// By first byte, where the longest ones come first.
    std::array<std::vector<std::uint32_t>, 256> by_byte_;
  };

  std::unordered_map<std::string, token_id> ids_;
  std::unordered_map<token_id, std::string> contents_;
  std::unordered_set<std::string> specials_;
  finder raw_;
  finder normalized_;
};

}  // namespace troupe
