#include "runtime/text/word_models.hpp"

#include <algorithm>
#include <utility>

#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

class word_piece_model : public token_model {
 public:
  word_piece_model(token_table all, const word_piece_options& options)
      : token_model(std::move(all)),
        prefix_(options.prefix),
        characters_max_(options.characters_max),
        unknown_(table().find(options.unknown)) {
    for (token_table::row row = 0; row < table().size(); ++row) {
      const std::string_view text = table().text(row);
      if (!prefix_.empty() && text.size() > prefix_.size() && text.starts_with(prefix_)) {
        behind_.add(text.substr(prefix_.size()), row);
      }
    }
  }

  bool tokenize(std::string_view word, std::vector<model_token>& to) const override {
    const bool is_long = word.size() > characters_max_ && utf8::count(word) > characters_max_;
    if (!is_long && cut(word, to)) return true;
    if (unknown_ == token_table::none) return false;
    to.push_back({unknown_, 0, static_cast<std::uint32_t>(word.size())});
    return true;
  }

 private:
  bool cut(std::string_view word, std::vector<model_token>& to) const {
    const std::size_t first = to.size();
    std::size_t start = 0;
    while (start < word.size()) {
      const bool is_behind = start > 0 && !prefix_.empty();
      const token_table& tokens = is_behind ? behind_ : table();
      std::size_t end = std::min(word.size(), start + tokens.longest_bytes());
      while (end > start && end < word.size() && utf8::is_continuation(word[end])) --end;
      token_table::row found = token_table::none;
      while (end > start) {
        found = tokens.find(word.substr(start, end - start));
        if (found != token_table::none) break;
        end = utf8::before(word, end);
      }
      if (found == token_table::none) {
        to.resize(first);
        return false;
      }
      const token_table::row row = is_behind ? behind_.id(found) : found;
      to.push_back({row, static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end)});
      start = end;
    }
    return true;
  }

  std::string prefix_;
  std::size_t characters_max_;
  token_table::row unknown_;
  /// Tokens that begin with the prefix, without it; their rows stand in the place of ids.
  token_table behind_;
};

class word_level_model : public token_model {
 public:
  word_level_model(token_table all, const std::string& unknown)
      : token_model(std::move(all)), unknown_(table().find(unknown)) {}

  bool tokenize(std::string_view word, std::vector<model_token>& to) const override {
    token_table::row found = table().find(word);
    if (found == token_table::none) found = unknown_;
    if (found == token_table::none) return false;
    to.push_back({found, 0, static_cast<std::uint32_t>(word.size())});
    return true;
  }

 private:
  token_table::row unknown_;
};

}  // namespace

std::unique_ptr<const token_model> make_word_piece(token_table table, const word_piece_options& options) {
  return std::make_unique<word_piece_model>(std::move(table), options);
}

std::unique_ptr<const token_model> make_word_level(token_table table, const std::string& unknown) {
  return std::make_unique<word_level_model>(std::move(table), unknown);
}

}  // namespace troupe
