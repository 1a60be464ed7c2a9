#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "messages/try.hpp"
#include "runtime/text/pre_tokenizer.hpp"
#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/unicode_classes.hpp"

namespace troupe {
namespace {

using made_pre_tokenizer = expected<std::unique_ptr<const pre_tokenizer>>;
using unicode::character_table;

/// GPT-2's words.
constexpr auto byte_level_expression = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Calls take(begin, end, kind) for the longest runs of characters of one kind: `kind_of(c)`.
template <class KindOf, class Take>
void for_each_run(std::string_view text, const KindOf& kind_of, const Take& take) {
  std::size_t start = 0;
  int kind = -1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t before = at;
    const int next = kind_of(utf8::next(text, at));
    if (before > 0 && next == kind) continue;
    if (before > 0) take(start, before, kind);
    start = before;
    kind = next;
  }
  if (start < text.size()) take(start, text.size(), kind);
}

class bert_pre_tokenizer : public pre_tokenizer {
 public:
  expected<void> apply(document& text) const override {
    const character_table& table = character_table::get();
    text.cut_words([&](std::string_view part, const auto& take) {
      std::size_t start = 0;
      for (std::size_t at = 0; at < part.size();) {
        const std::size_t before = at;
        const std::uint8_t flags = table[utf8::next(part, at)];
        if ((flags & (unicode::white_space | unicode::punctuation)) == 0) continue;
        take(start, before);
        if ((flags & unicode::punctuation) != 0) take(before, at);
        start = at;
      }
      take(start, part.size());
    });
    return {};
  }
};

/// Whitespace and WhitespaceSplit: the runs of characters that are no space, of two kinds or one.
class space_pre_tokenizer : public pre_tokenizer {
 public:
  explicit space_pre_tokenizer(bool cuts_words) : cuts_words_(cuts_words) {}
  expected<void> apply(document& text) const override {
    const character_table& table = character_table::get();
    const auto kind_of = [&](char32_t c) {
      if (!cuts_words_) return table.has(c, unicode::white_space) ? 0 : 1;
      if (table.has(c, unicode::word)) return 1;
      return table.has(c, unicode::whitespace_space) ? 0 : 2;
    };
    text.cut_words([&](std::string_view part, const auto& take) {
      for_each_run(part, kind_of, [&](std::size_t begin, std::size_t end, int kind) {
        if (kind != 0) take(begin, end);
      });
    });
    return {};
  }

 private:
  bool cuts_words_;
};

/// Digits and Punctuation: each character of a kind is a match.
class character_pre_tokenizer : public pre_tokenizer {
 public:
  character_pre_tokenizer(unicode::flag kind, split_behaviour behaviour) : kind_(kind), behaviour_(behaviour) {}
  expected<void> apply(document& text) const override {
    const character_table& table = character_table::get();
    const bool is_found = text.split(behaviour_, false, [&](std::string_view part, const auto& take) {
      for (std::size_t at = 0; at < part.size();) {
        const std::size_t before = at;
        if (table.has(utf8::next(part, at), kind_)) take(before, at);
      }
      return true;
    });
    return is_found ? expected<void>() : gave_up();
  }

 private:
  unicode::flag kind_;
  split_behaviour behaviour_;
};

class pattern_pre_tokenizer : public pre_tokenizer {
 public:
  pattern_pre_tokenizer(text_pattern pattern, split_behaviour behaviour, bool is_inverted)
      : pattern_(std::move(pattern)), behaviour_(behaviour), is_inverted_(is_inverted) {}
  expected<void> apply(document& text) const override {
    const bool is_found = text.split(
        behaviour_, is_inverted_, [&](std::string_view part, const auto& take) { return pattern_.find(part, take); });
    return is_found ? expected<void>() : gave_up();
  }

 private:
  text_pattern pattern_;
  split_behaviour behaviour_;
  bool is_inverted_;
};

/// Compiled once, as a file may have any number of such parts.
const regex& byte_level_words() {
  static const regex words = *regex::compile(byte_level_expression);
  return words;
}

class byte_level_pre_tokenizer : public pre_tokenizer {
 public:
  byte_level_pre_tokenizer(bool adds_space, bool uses_regex, bool is_last)
      : adds_space_(adds_space), is_last_(is_last) {
    if (uses_regex) words_.emplace(byte_level_words());
  }

  expected<void> apply(document& text) const override {
    const bool needs_space = adds_space_ && std::ranges::any_of(text.pieces(), [&](const document::piece& piece) {
                               return !piece.is_token && !text.text_of(piece).starts_with(' ');
                             });
    if (needs_space) {
      TROUPE_TRY(text.rewrite([](aligned_text& part) -> expected<void> {
        if (!part.text.starts_with(' ')) prepend(part, " ");
        return {};
      }));
    }
    if (words_) {
      const bool is_found = text.split(split_behaviour::isolated, false, [&](std::string_view part, const auto& take) {
        return words_->find(part, take);
      });
      if (!is_found) return gave_up();
    }
    if (is_last_) return {};
    return text.rewrite([](aligned_text& part) -> expected<void> {
      write_bytes(part);
      return {};
    });
  }
  [[nodiscard]] bool gives_bytes() const override { return is_last_; }

 private:
  bool adds_space_;
  bool is_last_;
  std::optional<text_pattern> words_;
};

enum class prepend_scheme { always, first, never };

class metaspace_pre_tokenizer : public pre_tokenizer {
 public:
  metaspace_pre_tokenizer(std::string replacement, prepend_scheme scheme, bool splits)
      : replacement_(std::move(replacement)), scheme_(scheme), splits_(splits) {}

  expected<void> apply(document& text) const override {
    TROUPE_TRY(text.rewrite([&](aligned_text& part) -> expected<void> {
      std::vector<text_span> spaces;
      for (std::size_t at = part.text.find(' '); at != std::string::npos; at = part.text.find(' ', at + 1)) {
        spaces.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + 1)});
      }
      if (!spaces.empty()) replace(part, spaces, replacement_);
      const bool is_asked = scheme_ == prepend_scheme::always || (scheme_ == prepend_scheme::first && part.origin == 0);
      if (is_asked && !part.text.starts_with(replacement_)) prepend(part, replacement_);
      return {};
    }));
    if (!splits_) return {};
    text.split(split_behaviour::merged_with_next, false, [&](std::string_view part, const auto& take) {
      for (std::size_t at = part.find(replacement_); at != std::string_view::npos;) {
        take(at, at + replacement_.size());
        at = part.find(replacement_, at + replacement_.size());
      }
      return true;
    });
    return {};
  }

 private:
  std::string replacement_;
  prepend_scheme scheme_;
  bool splits_;
};

class sequence_pre_tokenizer : public pre_tokenizer {
 public:
  explicit sequence_pre_tokenizer(std::vector<std::unique_ptr<const pre_tokenizer>> parts) : parts_(std::move(parts)) {}
  expected<void> apply(document& text) const override {
    for (const auto& part : parts_) TROUPE_TRY(part->apply(text));
    return {};
  }
  [[nodiscard]] bool gives_bytes() const override { return !parts_.empty() && parts_.back()->gives_bytes(); }

 private:
  std::vector<std::unique_ptr<const pre_tokenizer>> parts_;
};

template <class Made, class... Arguments>
made_pre_tokenizer made_of(Arguments&&... arguments) {
  return std::make_unique<Made>(std::forward<Arguments>(arguments)...);
}

expected<split_behaviour> read_behaviour(const json_part& part) {
  static const std::vector<std::pair<std::string_view, split_behaviour>> known = {
      {"Removed", split_behaviour::removed},
      {"Isolated", split_behaviour::isolated},
      {"MergedWithPrevious", split_behaviour::merged_with_previous},
      {"MergedWithNext", split_behaviour::merged_with_next},
      {"Contiguous", split_behaviour::contiguous}};
  const std::string name = TROUPE_TRY(text_or(part, "behavior", "Isolated"));
  const auto found = std::ranges::find(known, name, [](const auto& each) { return each.first; });
  if (found == known.end())
    return unusable(part.where(), "a split with the behavior \"" + name + "\" is not supported");
  return found->second;
}

made_pre_tokenizer read_metaspace(const json_part& part) {
  TROUPE_TRY(
      check_members(part, "Metaspace", {"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"}));
  const std::string replacement = TROUPE_TRY(TROUPE_TRY(part.at("replacement")).text());
  const auto old_form = TROUPE_TRY(part.find("add_prefix_space"));
  const std::string scheme = TROUPE_TRY(text_or(part, "prepend_scheme", "always"));
  prepend_scheme found = prepend_scheme::always;
  if (scheme == "first") found = prepend_scheme::first;
  if (scheme == "never") found = prepend_scheme::never;
  if (scheme != "always" && found == prepend_scheme::always) {
    return unusable(part.where(), "Metaspace with the prepend_scheme \"" + scheme + "\" is not supported");
  }
  if (old_form && !TROUPE_TRY(old_form->truth())) {
    if (TROUPE_TRY(part.find("prepend_scheme")) && found != prepend_scheme::never) {
      return unusable(part.where(), "Metaspace has an add_prefix_space that contradicts its prepend_scheme");
    }
    found = prepend_scheme::never;
  }
  if (utf8::count(replacement) != 1)
    return unusable(part.where(), "Metaspace has a replacement that is not one character");
  return made_of<metaspace_pre_tokenizer>(replacement, found, TROUPE_TRY(truth_or(part, "split", true)));
}

made_pre_tokenizer read_byte_level(const json_part& part, bool is_last) {
  TROUPE_TRY(check_members(part, "ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}));
  const bool adds_space = TROUPE_TRY(truth_or(part, "add_prefix_space", true));
  return made_of<byte_level_pre_tokenizer>(adds_space, TROUPE_TRY(truth_or(part, "use_regex", true)), is_last);
}

made_pre_tokenizer read_split(const json_part& part) {
  TROUPE_TRY(check_members(part, "Split", {"pattern", "behavior", "invert"}));
  text_pattern pattern = TROUPE_TRY(read_pattern(TROUPE_TRY(part.at("pattern"))));
  const split_behaviour behaviour = TROUPE_TRY(read_behaviour(part));
  return made_of<pattern_pre_tokenizer>(std::move(pattern), behaviour, TROUPE_TRY(truth_or(part, "invert", false)));
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON text, which has a limit
made_pre_tokenizer read(const json_part& part, bool is_last) {
  const std::string type = TROUPE_TRY(type_of(part));
  if (type == "ByteLevel") return read_byte_level(part, is_last);
  if (type == "Metaspace") return read_metaspace(part);
  if (type == "Split") return read_split(part);
  if (type == "Sequence") {
    TROUPE_TRY(check_members(part, type, {"pretokenizers"}));
    const std::vector<json_part> items = TROUPE_TRY(TROUPE_TRY(part.at("pretokenizers")).items());
    std::vector<std::unique_ptr<const pre_tokenizer>> parts;
    for (std::size_t i = 0; i < items.size(); ++i) {
      parts.push_back(TROUPE_TRY(read(items[i], is_last && i + 1 == items.size())));
    }
    return made_of<sequence_pre_tokenizer>(std::move(parts));
  }
  if (type == "Digits") {
    TROUPE_TRY(check_members(part, type, {"individual_digits"}));
    const bool is_each = TROUPE_TRY(truth_or(part, "individual_digits", false));
    return made_of<character_pre_tokenizer>(unicode::numeric,
                                            is_each ? split_behaviour::isolated : split_behaviour::contiguous);
  }
  if (type == "Punctuation") {
    TROUPE_TRY(check_members(part, type, {"behavior"}));
    return made_of<character_pre_tokenizer>(unicode::punctuation, TROUPE_TRY(read_behaviour(part)));
  }
  TROUPE_TRY(check_members(part, type, {}));
  if (type == "BertPreTokenizer") return made_of<bert_pre_tokenizer>();
  if (type == "Whitespace") return made_of<space_pre_tokenizer>(true);
  if (type == "WhitespaceSplit") return made_of<space_pre_tokenizer>(false);
  return unusable(part.where(), "a pre-tokenizer of type \"" + type + "\" is not supported");
}

}  // namespace

expected<std::unique_ptr<const pre_tokenizer>> read_pre_tokenizer(const json_part& part) {
  return read(part, true);
}

std::unique_ptr<const pre_tokenizer> make_bert_pre_tokenizer() {
  return std::make_unique<bert_pre_tokenizer>();
}

std::unique_ptr<const pre_tokenizer> make_byte_level_pre_tokenizer(bool adds_space, bool uses_regex) {
  return std::make_unique<byte_level_pre_tokenizer>(adds_space, uses_regex, true);
}

std::unique_ptr<const pre_tokenizer> make_regex_byte_pre_tokenizer(const std::string& expression) {
  text_pattern pattern(*regex::compile(expression));
  std::vector<std::unique_ptr<const pre_tokenizer>> parts;
  parts.push_back(std::make_unique<pattern_pre_tokenizer>(std::move(pattern), split_behaviour::isolated, false));
  parts.push_back(make_byte_level_pre_tokenizer(false, false));
  return std::make_unique<sequence_pre_tokenizer>(std::move(parts));
}

}  // namespace troupe
