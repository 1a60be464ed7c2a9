#include "runtime/text/tokenizer_file.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "messages/file_fixes.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe {
namespace {

using json = nlohmann::json;

constexpr std::uint64_t id_limit = 0xFFFFFFFF;
/// By a generous estimate of what a JSON value takes, as in runtime/json.
constexpr std::uint64_t value_bytes = 160;
constexpr std::uint64_t rest_bytes_min = 24u << 20;

/// (?i), (?i:a), (?m-i).
bool may_ignore_case(std::string_view expression) {
  constexpr std::string_view group = "(?";
  for (std::size_t at = 0; (at = expression.find(group, at)) != std::string_view::npos;) {
    for (at += group.size(); at < expression.size() &&
                             (std::isalpha(static_cast<unsigned char>(expression[at])) != 0 || expression[at] == '-');
         ++at) {
      if (expression[at] == 'i') return true;
    }
  }
  return false;
}

/// Builds the values of a JSON text, and streams large ones. The names of the functions are nlohmann's.
class file_reader : public nlohmann::json_sax<json> {
 public:
  file_reader(tokenizer_file& to, std::uint64_t memory_bytes, bool is_vocabulary)
      : to_(to), memory_left_(memory_bytes), where_(is_vocabulary ? place::before_tokens : place::outside) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool is_true) override { return value(is_true); }
  bool number_integer(number_integer_t number) override {
    return where_ == place::scores ? score(static_cast<double>(number)) : value(number);
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (where_ == place::scores) return score(static_cast<double>(number));
    return where_ == place::tokens ? token(number) : value(number);
  }
  bool number_float(number_float_t number, const string_t& /*digits*/) override {
    return where_ == place::scores ? score(number) : value(number);
  }
  bool string(string_t& text) override {
    switch (where_) {
      case place::scores:
        return scored_token(text);
      case place::merges:
        return written_merge(text);
      case place::merge:
        return merge_part(text);
      default:
        return value(text);
    }
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& name) override {
    if (where_ == place::tokens) {
      name_ = std::move(name);
      return true;
    }
    key_ = std::move(name);
    return spend(key_.size() + value_bytes);
  }
  bool start_object(std::size_t /*count*/) override {
    if (where_ == place::before_tokens || is_large("vocab")) {
      where_ = place::tokens;
      to_.has_vocabulary = true;
      return true;
    }
    return where_ == place::outside ? enter(json::object()) : wrong("an object stands where none may be");
  }
  bool end_object() override { return leave(place::tokens); }
  bool start_array(std::size_t /*count*/) override {
    if (is_large("vocab")) {
      where_ = place::before_scores;
      to_.has_vocabulary = true;
      to_.has_scores = true;
      return true;
    }
    if (is_large("merges")) {
      where_ = place::merges;
      to_.has_merges = true;
      return true;
    }
    if (where_ == place::before_scores || where_ == place::merges) {
      where_ = where_ == place::merges ? place::merge : place::scores;
      parts_ = 0;
      return true;
    }
    return where_ == place::outside ? enter(json::array()) : wrong("an array stands where none may be");
  }
  bool end_array() override {
    if (where_ == place::scores || where_ == place::merge) {
      if (parts_ != 2) return wrong("an element of the vocabulary or of the merges has not two parts");
      where_ = where_ == place::merge ? place::merges : place::before_scores;
      return true;
    }
    return leave(where_ == place::merges ? place::merges : place::before_scores);
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*caught*/) override {
    finding_ = "it is no JSON text at byte " + std::to_string(position);
    return false;
  }

  [[nodiscard]] bool is_beyond_limits() const { return is_beyond_limits_; }
  [[nodiscard]] const std::string& finding() const { return finding_; }

 private:
  enum class place { outside, before_tokens, tokens, before_scores, scores, merges, merge };

  bool wrong(const std::string& finding) {
    finding_ = finding;
    return false;
  }
  bool too_large(const std::string& finding) {
    is_beyond_limits_ = true;
    return wrong(finding);
  }
  bool spend(std::uint64_t bytes) {
    if (bytes > memory_left_) return too_large("it would take too much memory for a file of its size");
    memory_left_ -= bytes;
    return true;
  }
  /// Whether the value that begins here is the member `name` of the member "model" of the whole.
  [[nodiscard]] bool is_large(std::string_view name) const {
    return where_ == place::outside && open_.size() == 2 && is_in_model_ && key_ == name;
  }

  json* put(json made) {
    if (open_.empty()) {
      to_.rest = std::move(made);
      return &to_.rest;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(made));
      return &parent.back();
    }
    json& member = parent[key_];
    member = std::move(made);
    return &member;
  }
  template <class Value>
  bool value(Value&& given) {
    if (where_ != place::outside) return wrong("the vocabulary or the merges have a value of another type");
    json made(std::forward<Value>(given));
    const std::string_view text = made.is_string() ? made.get_ref<const std::string&>() : std::string_view();
    if (!spend(value_bytes + text.size()) || (made.is_string() && !has_room_for(text))) return false;
    put(std::move(made));
    return true;
  }
  bool enter(json made) {
    if (open_.size() >= json_depth_max) {
      return too_large("it is nested more than " + std::to_string(json_depth_max) + " deep");
    }
    if (!spend(2 * value_bytes)) return false;
    if (open_.size() == 1) is_in_model_ = key_ == "model";
    open_.push_back(put(std::move(made)));
    return true;
  }
  bool leave(place large) {
    if (where_ != place::outside) {
      if (where_ != large) return wrong("the vocabulary or the merges end too early");
      where_ = place::outside;
      return true;
    }
    open_.pop_back();
    return true;
  }

  /// A text that is a regular expression, or the content of an added token or a replacement.
  bool has_room_for(std::string_view text) {
    if (open_.empty() || !open_.back()->is_object()) return true;
    if (key_ == "Regex") {
      expression_bytes_ +=
          std::max<std::uint64_t>(1, text.size()) * (may_ignore_case(text) ? expression_without_case : 1);
      if (expression_bytes_ <= expression_bytes_max) return true;
      return too_large("its regular expressions have more than " + std::to_string(expression_bytes_max) +
                       " bytes together, where one that ignores case counts " +
                       std::to_string(expression_without_case) + " times");
    }
    if (key_ != "content") return true;
    content_bytes_ += text.size();
    if (content_bytes_ <= added_bytes_max) return true;
    return too_large("its added tokens and replacements have more than " + std::to_string(added_bytes_max) +
                     " bytes together");
  }

  bool has_room() {
    if (to_.vocabulary.size() < tokens_max) return true;
    return too_large("it has more than " + std::to_string(tokens_max) + " tokens");
  }
  bool token(std::uint64_t id) {
    if (id >= id_limit) return wrong("the token \"" + name_.substr(0, 100) + "\" has an id that is out of range");
    if (!has_room()) return false;
    to_.vocabulary.add(name_, static_cast<token_id>(id));
    return true;
  }
  bool scored_token(string_t& text) {
    if (parts_++ != 0) return wrong("a token of the vocabulary has no score");
    name_ = std::move(text);
    return true;
  }
  bool score(double number) {
    if (parts_++ != 1 || !has_room()) return wrong(finding_.empty() ? "a score has no token" : finding_);
    const std::size_t before = to_.vocabulary.size();
    to_.vocabulary.add(name_, static_cast<token_id>(listed_));
    ++listed_;
    if (to_.vocabulary.size() > before) {
      to_.scores.push_back(number);
    } else {
      to_.scores[to_.vocabulary.find(name_)] = number;
    }
    return listed_ <= tokens_max || has_room();
  }
  bool add_merge(std::string_view left, std::string_view right) {
    if (to_.merges.size() >= merges_max) return too_large("it has more than " + std::to_string(merges_max) + " merges");
    to_.merges.add(left, right);
    return true;
  }
  /// "left right", the older form.
  bool written_merge(const string_t& text) {
    if (text.starts_with("#version")) return true;
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      return wrong("the merge \"" + text.substr(0, 100) + "\" is no pair");
    }
    return add_merge(std::string_view(text).substr(0, space), std::string_view(text).substr(space + 1));
  }
  bool merge_part(string_t& text) {
    if (++parts_ == 1) {
      name_ = std::move(text);
      return true;
    }
    return parts_ == 2 ? add_merge(name_, text) : wrong("a merge has more than two parts");
  }

  tokenizer_file& to_;
  std::uint64_t memory_left_;
  place where_;
  std::vector<json*> open_;
  std::string key_;
  std::string name_;
  bool is_in_model_ = false;
  std::size_t parts_ = 0;
  std::size_t listed_ = 0;
  std::uint64_t expression_bytes_ = 0;
  std::uint64_t content_bytes_ = 0;
  bool is_beyond_limits_ = false;
  std::string finding_;
};

expected<tokenizer_file> read(std::string_view text, const std::string& where, bool is_vocabulary) {
  tokenizer_file made;
  file_reader reader(made, rest_bytes_min + text.size(), is_vocabulary);
  if (json::sax_parse(text, &reader)) return made;
  if (reader.is_beyond_limits()) return fail(error_code::model_beyond_limits, where, reader.finding(), limits_fix);
  return fail(error_code::model_unreadable, where, "the file is damaged: " + reader.finding(), copy_again_fix);
}

}  // namespace

expected<tokenizer_file> parse_tokenizer_file(std::string_view text, const std::string& where) {
  return read(text, where, false);
}

expected<token_table> parse_vocabulary(std::string_view text, const std::string& where) {
  auto made = read(text, where, true);
  if (!made) return tl::make_unexpected(std::move(made).error());
  if (!made->has_vocabulary) {
    return fail(error_code::model_unreadable, where, "the file is damaged: it is no object of tokens", copy_again_fix);
  }
  return std::move(made->vocabulary);
}

}  // namespace troupe
