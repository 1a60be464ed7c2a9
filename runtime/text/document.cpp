#include "runtime/text/document.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// Puts a match to its neighbour on the left, or, from the right, to the one on the right.
template <class Join>
void merge_matches(std::vector<split_part>& parts, const Join& join) {
  std::vector<split_part> merged;
  bool was_match = false;
  for (const split_part& part : parts) {
    if (part.is_match && !was_match && !merged.empty()) {
      join(merged.back(), part);
    } else {
      merged.push_back(part);
    }
    was_match = part.is_match;
  }
  parts = std::move(merged);
}

void join_equal(std::vector<split_part>& parts) {
  std::vector<split_part> joined;
  bool was_match = false;
  for (const split_part& part : parts) {
    if (part.is_match == was_match && !joined.empty()) {
      joined.back().end = part.end;
    } else {
      joined.push_back(part);
    }
    was_match = part.is_match;
  }
  parts = std::move(joined);
}

}  // namespace

text_span document::original_span(const piece& of, std::uint32_t begin, std::uint32_t end) const noexcept {
  const std::uint32_t length = of.end - of.begin;
  if (begin == end) return {of.origin + begin, of.origin + end};
  if (end > length || begin > end) return {begin, end};
  if (!is_aligned_) return {spans_[of.begin + begin].begin, spans_[of.begin + end - 1].end};
  std::uint32_t first = of.begin + begin;
  std::uint32_t last = of.begin + end;
  while (first > 0 && utf8::is_continuation(text_[first])) --first;
  while (last < text_.size() && utf8::is_continuation(text_[last])) ++last;
  return {first, last};
}

void document::replace_in_place(std::string text) {
  own_ = std::move(text);
  text_ = own_;
}

document::piece document::inner(const piece& of, std::uint32_t begin, std::uint32_t end, bool is_token,
                                token_id token) const noexcept {
  const std::uint32_t first = of.begin + begin;
  const std::uint32_t origin = is_aligned_ ? first : spans_[first].begin;
  return {first, of.begin + end, origin, is_token, token};
}

void document::take_part(const piece& of, aligned_text& part) const {
  part.text.clear();
  part.spans.clear();
  part.origin = of.origin;
  if (is_aligned_) {
    part.append_original(text_of(of), of.begin);
  } else {
    part.text = text_of(of);
    part.spans.assign(spans_.begin() + of.begin, spans_.begin() + of.end);
  }
}

void document::append(const piece& old, const aligned_text& part, aligned_text& all, std::vector<piece>& pieces) {
  const auto begin = static_cast<std::uint32_t>(all.text.size());
  all.text += part.text;
  all.spans.insert(all.spans.end(), part.spans.begin(), part.spans.end());
  pieces.push_back({begin, static_cast<std::uint32_t>(all.text.size()), old.origin, old.is_token, old.token});
}

void document::adopt(aligned_text all, std::vector<piece> pieces) {
  own_ = std::move(all.text);
  text_ = own_;
  spans_ = std::move(all.spans);
  is_aligned_ = false;
  pieces_ = std::move(pieces);
}

void document::keep(const piece& old, std::vector<split_part>& parts, split_behaviour behaviour,
                    std::vector<piece>& to) const {
  switch (behaviour) {
    case split_behaviour::removed:
      std::erase_if(parts, [](const split_part& part) { return part.is_match; });
      break;
    case split_behaviour::isolated:
      break;
    case split_behaviour::contiguous:
      join_equal(parts);
      break;
    case split_behaviour::merged_with_previous:
      merge_matches(parts, [](split_part& kept, const split_part& match) { kept.end = match.end; });
      break;
    case split_behaviour::merged_with_next:
      std::ranges::reverse(parts);
      merge_matches(parts, [](split_part& kept, const split_part& match) { kept.begin = match.begin; });
      std::ranges::reverse(parts);
      break;
  }
  for (const split_part& part : parts) {
    if (part.end > part.begin) to.push_back(inner(old, part.begin, part.end, false, 0));
  }
}

}  // namespace troupe
