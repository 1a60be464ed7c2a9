#include "runtime/config/toml_excess.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "runtime/config/text_place.hpp"

namespace troupe {
namespace {

/// Knows of TOML where strings and comments begin and end, and counts what stands outside of them.
class depth_scanner {
 public:
  explicit depth_scanner(std::string_view text) : text_(text) {}

  std::optional<toml_excess> run() {
    while (at_ < text_.size() && cause_.empty()) {
      where_ == place::outside ? step_outside() : step_inside();
    }
    if (cause_.empty()) return std::nullopt;
    return position();
  }

 private:
  enum class place { outside, comment, string, multi_line_string };

  void step_outside() {
    const char c = text_[at_];
    switch (c) {
      case '"':
      case '\'':
        return open_string(c);
      case '#':
        where_ = place::comment;
        break;
      case '.':
        if (++dots_ > limits::config_key_dots_max) return exceed("a key of more than {} parts", dots_);
        break;
      case '[':
      case '{':
        dots_ = 0;
        if (++open_ > limits::config_nesting_max) {
          return exceed("more than {} arrays and inline tables inside each other", limits::config_nesting_max);
        }
        break;
      case ']':
      case '}':
        dots_ = 0;
        open_ -= std::min<std::size_t>(open_, 1);
        break;
      case '=':
      case ',':
      case '\n':
        dots_ = 0;
        break;
      default:
        break;
    }
    ++at_;
  }

  void open_string(char quote) {
    quote_ = quote;
    const bool is_multi_line = text_.substr(at_).starts_with(std::string(3, quote));
    where_ = is_multi_line ? place::multi_line_string : place::string;
    at_ += is_multi_line ? 3 : 1;
  }

  void step_inside() {
    const char c = text_[at_];
    if (c == '\n' && where_ != place::multi_line_string) {
      where_ = place::outside;  // A string that a line ends is no TOML; the new line is looked at outside.
    } else if (where_ != place::comment && c == '\\' && quote_ == '"') {
      at_ += 2;
    } else if (where_ == place::comment || c != quote_) {
      ++at_;
    } else if (where_ == place::string) {
      where_ = place::outside;
      ++at_;
    } else {
      step_over_quotes();
    }
  }

  /// Three quotes end the string; one or two before them belong to it, so that up to five stand together.
  void step_over_quotes() {
    const std::size_t end = std::min(text_.find_first_not_of(quote_, at_), text_.size());
    const std::size_t quotes = std::min<std::size_t>(end - at_, 5);
    if (quotes >= 3) where_ = place::outside;
    at_ += quotes;
  }

  template <class Number>
  void exceed(fmt::format_string<Number&> cause, Number number) {
    cause_ = fmt::format(cause, number);
  }

  [[nodiscard]] toml_excess position() const {
    const auto [line, column] = place_in(text_, at_);
    return {line, column, cause_};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  place where_ = place::outside;
  char quote_ = '"';
  std::size_t dots_ = 0;
  std::size_t open_ = 0;
  std::string cause_;
};

}  // namespace

std::optional<toml_excess> find_excess(std::string_view text) {
  return depth_scanner(text).run();
}

}  // namespace troupe
