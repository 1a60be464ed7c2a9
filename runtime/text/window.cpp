#include "runtime/text/window.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

constexpr std::size_t windows_max = 1U << 20;

/// Tokens of a text from `begin` up to `end`.
struct part {
  std::size_t begin = 0;
  std::size_t end = 0;
};
using parts = std::vector<part>;

tl::unexpected<error> no_room(const std::string& cause) {
  return fail(error_code::value_out_of_range, "truncation", cause,
              "raise max_length, lower the stride, or take the strategy longest_first");
}

/// The first part is that of the first window.
expected<parts> cut(std::size_t count, std::size_t length, const truncation& how) {
  if (length >= count) return parts{{0, count}};
  // The package would give a window with the whole text, which is longer than it may be.
  if (length == 0) return no_room("max_length leaves no room for the text");
  if (how.stride >= length) {
    return no_room("a stride of " + std::to_string(how.stride) + " tokens does not fit windows with room for " +
                   std::to_string(length) + " tokens of the text");
  }
  parts all;
  const std::size_t step = length - how.stride;
  if (how.direction == text_side::right) {
    for (std::size_t begin = 0; all.empty() || all.back().end < count; begin += step) {
      all.push_back({begin, std::min(begin + length, count)});
    }
    return all;
  }
  for (std::size_t end = count; all.empty() || all.back().begin > 0; end -= step) {
    all.push_back({end > length ? end - length : 0, end});
  }
  return all;
}

/// How many tokens of each text a window has room for.
expected<std::vector<std::size_t>> lengths(const std::vector<cut_text>& texts, std::size_t max_length,
                                           const truncation& how) {
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  for (const cut_text& text : texts) {
    counts.push_back(text.tokens.size());
    total += text.tokens.size();
  }
  if (max_length == 0) return std::vector<std::size_t>(texts.size(), 0);
  if (total <= max_length) return counts;
  if (how.strategy == truncation_strategy::longest_first) {
    if (counts.size() == 1) return std::vector<std::size_t>{max_length};
    const bool is_swapped = counts[0] > counts[1];
    std::size_t shorter = std::min(counts[0], counts[1]);
    std::size_t longer = shorter > max_length ? shorter : std::max(shorter, max_length - shorter);
    if (shorter + longer > max_length) {
      shorter = max_length / 2;
      longer = shorter + max_length % 2;
    }
    return is_swapped ? std::vector<std::size_t>{longer, shorter} : std::vector<std::size_t>{shorter, longer};
  }
  const std::size_t cut_one = how.strategy == truncation_strategy::only_first ? 0 : 1;
  if (cut_one >= counts.size()) return no_room("there is no second text that could be cut");
  const std::size_t surplus = total - max_length;
  if (counts[cut_one] <= surplus) {
    return no_room("with " + std::to_string(total) + " tokens there are " + std::to_string(surplus) +
                   " too many, and the text that may be cut has only " + std::to_string(counts[cut_one]));
  }
  counts[cut_one] -= surplus;
  return counts;
}

/// Leaves white space out of the offsets, as the package counts it: in characters of the text.
text_span trimmed(const cut_text::token& token, text_span span, std::string_view text, bool is_first,
                  bool keeps_added_space) {
  std::size_t before = token.spaces_before;
  if (before == 1 && keeps_added_space && (is_first || span.begin == 0)) before = 0;
  for (; before > 0 && span.begin < span.end; --before) {
    const auto length = static_cast<std::uint32_t>(utf8::length_from(text[span.begin]));
    span.begin = std::min(span.begin + length, span.end);
  }
  for (std::size_t behind = token.spaces_behind; behind > 0 && span.end > span.begin; --behind) {
    span.end = std::max(static_cast<std::uint32_t>(utf8::before(text, span.end)), span.begin);
  }
  return span;
}

void put_text(const cut_text& text, const part& of, std::int8_t number, std::uint32_t type_id,
              const post_processing& how, encoding& to) {
  for (std::size_t i = of.begin; i < of.end; ++i) {
    const cut_text::token& token = text.tokens[i];
    text_span span = token.span;
    for (const auto& trim : how.trims) span = trimmed(token, span, text.text, i == of.begin, trim.keeps_added_space);
    to.ids.push_back(token.id);
    to.offsets.push_back(span);
  }
  to.type_ids.resize(to.ids.size(), type_id);
  to.attention_mask.resize(to.ids.size(), 1);
  to.special_tokens_mask.resize(to.ids.size(), 0);
  to.sequence.resize(to.ids.size(), number);
}

void put_specials(const template_piece& piece, encoding& to) {
  to.ids.insert(to.ids.end(), piece.specials.begin(), piece.specials.end());
  to.offsets.resize(to.ids.size());
  to.type_ids.resize(to.ids.size(), piece.type_id);
  to.attention_mask.resize(to.ids.size(), 1);
  to.special_tokens_mask.resize(to.ids.size(), 1);
  to.sequence.resize(to.ids.size(), -1);
}

/// A window takes one part of each text.
using choice = std::vector<std::size_t>;

/// The windows in the order of the package: the first of all, then the overflowing ones.
std::vector<choice> choices(const std::vector<parts>& cuts, const std::vector<template_piece>& pieces) {
  std::vector<choice> all{choice(cuts.size(), 0)};
  std::vector<bool> is_done(cuts.size());
  for (const template_piece& piece : pieces) {
    if (piece.text < 0 || is_done[static_cast<std::size_t>(piece.text)]) continue;
    const auto text = static_cast<std::size_t>(piece.text);
    is_done[text] = true;
    std::vector<choice> more{all.front()};
    for (std::size_t i = 1; i <= all.size(); ++i) {
      // The overflowing ones come first, and what the first window makes of the other parts at the end.
      const choice& base = all[i % all.size()];
      for (std::size_t other = i == all.size() ? 1 : 0; other < cuts[text].size(); ++other) {
        more.push_back(base);
        more.back()[text] = other;
      }
    }
    all = std::move(more);
  }
  return all;
}

encoding assemble(const std::vector<cut_text>& texts, const std::vector<parts>& cuts, const choice& chosen,
                  const std::vector<template_piece>& pieces, const post_processing& how, bool adds_specials) {
  encoding made;
  std::size_t count = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) count += cuts[i][chosen[i]].end - cuts[i][chosen[i]].begin;
  count += pieces.size();
  made.ids.reserve(count);
  made.offsets.reserve(count);
  for (const template_piece& piece : pieces) {
    if (piece.text < 0) {
      if (adds_specials) put_specials(piece, made);
      continue;
    }
    const auto text = static_cast<std::size_t>(piece.text);
    put_text(texts[text], cuts[text][chosen[text]], static_cast<std::int8_t>(piece.text), piece.type_id, how, made);
  }
  return made;
}

}  // namespace

expected<std::vector<encoding>> make_windows(std::vector<cut_text> texts, const post_processing& how,
                                             const encode_options& options, token_id pad_id) {
  const bool is_pair = texts.size() == 2;
  const std::vector<template_piece>& pieces = is_pair ? how.pair : how.single;
  std::vector<parts> cuts;
  if (options.truncate) {
    const std::size_t added = options.add_special_tokens ? how.added_count(is_pair) : 0;
    if (options.truncate->max_length < added) {
      return no_room("max_length is " + std::to_string(options.truncate->max_length) + ", and there are as many as " +
                     std::to_string(added) + " special tokens");
    }
    const auto rooms = TROUPE_TRY(lengths(texts, options.truncate->max_length - added, *options.truncate));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      cuts.push_back(TROUPE_TRY(cut(texts[i].tokens.size(), rooms[i], *options.truncate)));
    }
  } else {
    for (const cut_text& text : texts) cuts.push_back({{0, text.tokens.size()}});
  }
  std::size_t count = 1;
  for (const parts& of : cuts) count = std::min(count * of.size(), windows_max + 1);
  if (count > windows_max) return no_room("the text becomes more than " + std::to_string(windows_max) + " windows");
  std::vector<encoding> windows;
  for (const choice& chosen : choices(cuts, pieces)) {
    windows.push_back(assemble(texts, cuts, chosen, pieces, how, options.add_special_tokens));
  }
  if (options.pad) pad_all(windows, *options.pad, pad_id);
  return windows;
}

void pad_all(std::span<encoding> encodings, const padding& how, token_id pad_id) {
  std::size_t length = how.length;
  if (length == 0) {
    for (const encoding& each : encodings) length = std::max(length, each.size());
  }
  if (how.multiple > 0 && length % how.multiple > 0) length += how.multiple - length % how.multiple;
  for (encoding& each : encodings) {
    if (each.size() >= length) continue;
    const std::size_t count = length - each.size();
    const auto put = [&](auto& list, auto value) {
      list.insert(how.direction == text_side::left ? list.begin() : list.end(), count, value);
    };
    put(each.ids, how.id.value_or(pad_id));
    put(each.type_ids, how.type_id);
    put(each.attention_mask, std::uint8_t{0});
    put(each.special_tokens_mask, std::uint8_t{1});
    put(each.offsets, text_span{});
    put(each.sequence, std::int8_t{-1});
  }
}

}  // namespace troupe
