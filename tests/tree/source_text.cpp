#include "tests/tree/source_text.hpp"

#include <algorithm>
#include <cctype>

#include "tests/support/refused_words.hpp"
#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::size_t after(std::size_t found, std::size_t size) {
  return found == std::string::npos ? found : found + size;
}

}  // namespace

source_text::source_text(const std::filesystem::path& file) {
  for (const std::string& line : read_lines(file)) text_ += line + '\n';
  code_ = text_;
  comments_ = text_;
  std::ranges::replace_if(
      comments_, [](char c) { return !is_blank(c); }, ';');
  while (at_ < text_.size()) step();
}

std::size_t source_text::line_of(std::size_t offset) const {
  return 1 + static_cast<std::size_t>(std::ranges::count(std::string_view(text_).substr(0, offset), '\n'));
}

void source_text::step() {
  const char c = text_[at_];
  if (c == '\n') return begin_line();
  if (is_next("//")) return take_comment_to(text_.find('\n', at_));
  if (is_next("/*")) return take_comment_to(after(text_.find("*/", at_ + 2), 2));
  if (c == '#' && is_line_start_) is_directive_ = true;
  if (!is_blank(c)) is_line_start_ = false;
  if (is_next("R\"")) return blank_to(end_of_raw_string());
  const bool is_after_word = at_ > 0 && is_word(text_[at_ - 1]);
  if (c == '"' || (c == '\'' && !is_after_word)) return blank_to(end_of_literal(c));
  if (is_directive_) return blank_to(at_ + 1);
  ++at_;
}

void source_text::begin_line() {
  is_directive_ = is_directive_ && text_[at_ - 1] == '\\';
  is_line_start_ = true;
  ++at_;
}

void source_text::blank_to(std::size_t end) {
  for (end = std::min(end, text_.size()); at_ < end; ++at_) {
    if (text_[at_] != '\n') code_[at_] = ' ';
  }
}

/// Marks are the signs with which a line of a comment begins, and the end of a block.
void source_text::take_comment_to(std::size_t end) {
  bool is_mark = true;
  for (std::size_t at = at_; at < std::min(end, text_.size()); ++at) {
    is_mark = text_[at] == '\n' || (is_mark && std::string_view("/*<! ").find(text_[at]) != std::string_view::npos);
    comments_[at] = is_mark && text_[at] != '\n' ? ' ' : text_[at];
  }
  blank_to(end);
}

std::size_t source_text::end_of_raw_string() const {
  const std::size_t open = text_.find('(', at_);
  if (open == std::string::npos) return open;
  const std::string close = ")" + text_.substr(at_ + 2, open - at_ - 2) + "\"";
  return after(text_.find(close, open), close.size());
}

std::size_t source_text::end_of_literal(char quote) const {
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  return end + 1;
}

}  // namespace troupe::testing
