#include "runtime/text/aligned_text.hpp"

#include <algorithm>

#include "runtime/text/byte_alphabet.hpp"

namespace troupe {

void aligned_text::append_original(std::string_view part, std::uint32_t at) {
  text.append(part);
  for (std::size_t i = 0; i < part.size();) {
    const auto length = static_cast<std::uint32_t>(utf8::length_from(part[i]));
    spans.insert(spans.end(), length, {at, at + length});
    at += length;
    i += length;
  }
}

text_rewriter::text_rewriter(aligned_text& text, std::size_t removed) : from_(text) {
  text_.reserve(text.text.size());
  spans_.reserve(text.spans.size());
  // What comes from nothing at the beginning is not part of what the package rewrites.
  while (at_ < text.spans.size() && text.spans[at_].begin == text.spans[at_].end) ++at_;
  text_.append(text.text, 0, at_);
  spans_.insert(spans_.end(), text.spans.begin(), text.spans.begin() + static_cast<std::ptrdiff_t>(at_));
  while (removed-- > 0) skip();
}

void text_rewriter::skip() {
  if (at_ < from_.text.size()) at_ = std::min(at_ + utf8::length_from(from_.text[at_]), from_.text.size());
}

void text_rewriter::put(char32_t c, int change) {
  text_span place{from_.origin, from_.origin};
  if (change > 0) {
    if (at_ > 0) place = from_.spans[at_ - 1];
  } else if (at_ < from_.spans.size()) {
    place = from_.spans[at_];
    skip();
    for (; change < 0; ++change) skip();
  } else if (at_ > 0) {
    place = from_.spans[at_ - 1];
  }
  utf8::append(text_, c);
  spans_.insert(spans_.end(), utf8::length_of(c), place);
}

void text_rewriter::finish() {
  from_.text = std::move(text_);
  from_.spans = std::move(spans_);
}

void write_bytes(aligned_text& text) {
  const std::string& old = text.text;
  text_rewriter out(text);
  for (const char byte : old) {
    out.put(character_of_byte(static_cast<unsigned char>(byte)), utf8::is_continuation(byte) ? 1 : 0);
  }
  out.finish();
}

void prepend(aligned_text& text, std::string_view content) {
  if (text.text.empty() || content.empty()) return;
  text.text.insert(0, content);
  const text_span first = text.spans.front();
  text.spans.insert(text.spans.begin(), content.size(), first);
}

void replace(aligned_text& text, const std::vector<text_span>& matches, std::string_view content) {
  std::string changed;
  std::vector<text_span> spans;
  changed.reserve(text.text.size());
  spans.reserve(text.spans.size());
  std::size_t done = 0;
  const auto copy_up_to = [&](std::size_t end) {
    changed.append(text.text, done, end - done);
    spans.insert(spans.end(), text.spans.begin() + static_cast<std::ptrdiff_t>(done),
                 text.spans.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const text_span& match : matches) {
    copy_up_to(match.begin);
    const text_span place = match.end > 0 ? text.spans[match.end - 1] : text_span{text.origin, text.origin};
    changed.append(content);
    spans.insert(spans.end(), content.size(), place);
    done = match.end;
  }
  copy_up_to(text.text.size());
  text.text = std::move(changed);
  text.spans = std::move(spans);
}

}  // namespace troupe
