#include "runtime/data/marked_text.hpp"

#include <algorithm>

namespace troupe {

std::optional<marked_text> marked_text::read(std::string_view text, std::string_view separators) {
  marked_text made;
  bool is_inside = false;
  bool may_begin = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      ++i;
    } else if (c == '"' && (is_inside || may_begin)) {
      is_inside = !is_inside;
      may_begin = false;
      made.is_quoted_at_all_ = true;
      continue;
    }
    made.text_ += c;
    made.quoted_.push_back(is_inside);
    may_begin = !is_inside && separators.find(c) != std::string_view::npos;
  }
  if (is_inside) return std::nullopt;
  return made;
}

marked_text marked_text::part(std::size_t begin, std::size_t end) const {
  marked_text made;
  made.text_ = text_.substr(begin, end - begin);
  made.quoted_.assign(quoted_.begin() + static_cast<std::ptrdiff_t>(begin),
                      quoted_.begin() + static_cast<std::ptrdiff_t>(end));
  made.is_quoted_at_all_ = std::find(made.quoted_.begin(), made.quoted_.end(), true) != made.quoted_.end();
  return made;
}

std::vector<marked_text> marked_text::split(char separator) const {
  std::vector<marked_text> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] != separator || quoted_[i]) continue;
    parts.push_back(part(begin, i));
    begin = i + 1;
  }
  parts.push_back(part(begin, text_.size()));
  return parts;
}

std::optional<std::pair<marked_text, marked_text>> marked_text::cut_at(char separator) const {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == separator && !quoted_[i]) return std::pair(part(0, i), part(i + 1, text_.size()));
  }
  return std::nullopt;
}

std::string quoted_where_needed(const std::string& text, std::string_view separators) {
  if (!text.starts_with('"') && text.find_first_of(separators) == std::string::npos) return text;
  std::string made = "\"";
  for (const char c : text) made.append(c == '"' ? 2 : 1, c);
  return made + '"';
}

}  // namespace troupe
