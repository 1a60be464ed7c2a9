#include <algorithm>
#include <utility>
#include <vector>

#include "messages/try.hpp"
#include "runtime/text/base64.hpp"
#include "runtime/text/normal_form.hpp"
#include "runtime/text/normalizer.hpp"
#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/unicode_classes.hpp"

namespace troupe {
namespace {

using made_normalizer = expected<std::unique_ptr<const normalizer>>;
using unicode::character_table;

class normal_form_normalizer : public normalizer {
 public:
  explicit normal_form_normalizer(normal_form form) : form_(form) {}
  expected<void> apply(aligned_text& text) const override {
    normal_form_table::get().apply(text, form_);
    return {};
  }
  bool apply_in_place(std::string& text) const override {
    return utf8::is_ascii(text) || !normal_form_table::get().may_change(text, form_);
  }

 private:
  normal_form form_;
};

/// StripAccents and Nmt: some characters go, others become spaces.
class character_normalizer : public normalizer {
 public:
  expected<void> apply(aligned_text& text) const override {
    filter_characters(text, [&](char32_t c) { return !is_removed(c); });
    map_characters(text, [&](char32_t c) { return is_space(c) ? U' ' : c; });
    return {};
  }
  bool apply_in_place(std::string& text) const override {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t start = at;
      const char32_t c = utf8::next(text, at);
      if (is_removed(c)) return false;
      if (!is_space(c)) continue;
      if (at - start > 1) return false;
      text[start] = ' ';
    }
    return true;
  }

 private:
  [[nodiscard]] virtual bool is_removed(char32_t c) const = 0;
  [[nodiscard]] virtual bool is_space(char32_t /*c*/) const { return false; }
};
class accents_normalizer : public character_normalizer {
  [[nodiscard]] bool is_removed(char32_t c) const override { return character_table::get().has(c, unicode::combining); }
};
class nmt_normalizer : public character_normalizer {
  [[nodiscard]] bool is_removed(char32_t c) const override {
    return (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  }
  [[nodiscard]] bool is_space(char32_t c) const override {
    return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class strip_normalizer : public normalizer {
 public:
  strip_normalizer(bool left, bool right) : left_(left), right_(right) {}
  expected<void> apply(aligned_text& text) const override {
    const auto [begin, end] = kept(text.text);
    text.text = text.text.substr(begin, end - begin);
    text.spans = {text.spans.begin() + static_cast<std::ptrdiff_t>(begin),
                  text.spans.begin() + static_cast<std::ptrdiff_t>(end)};
    return {};
  }
  bool apply_in_place(std::string& text) const override {
    return kept(text) == std::pair<std::size_t, std::size_t>(0, text.size());
  }

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> kept(std::string_view text) const {
    const character_table& table = character_table::get();
    std::size_t begin = 0;
    std::size_t end = text.size();
    while (left_ && begin < end) {
      std::size_t behind = begin;
      if (!table.has(utf8::next(text, behind), unicode::white_space)) break;
      begin = behind;
    }
    while (right_ && end > begin) {
      const std::size_t before = utf8::before(text, end);
      std::size_t at = before;
      if (!table.has(utf8::next(text, at), unicode::white_space)) break;
      end = before;
    }
    return {begin, end};
  }

  bool left_;
  bool right_;
};

class replace_normalizer : public normalizer {
 public:
  replace_normalizer(text_pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  expected<void> apply(aligned_text& text) const override {
    std::vector<text_span> matches;
    const bool is_found = pattern_.find(text.text, [&](std::size_t begin, std::size_t end) {
      matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    });
    if (!is_found) return gave_up();
    if (!matches.empty()) replace(text, matches, content_);
    return {};
  }
  bool apply_in_place(std::string& text) const override {
    bool has_match = false;
    return pattern_.find(text, [&](std::size_t, std::size_t) { has_match = true; }) && !has_match;
  }

 private:
  text_pattern pattern_;
  std::string content_;
};

class prepend_normalizer : public normalizer {
 public:
  explicit prepend_normalizer(std::string content) : content_(std::move(content)) {}
  expected<void> apply(aligned_text& text) const override {
    prepend(text, content_);
    return {};
  }
  bool apply_in_place(std::string& text) const override { return text.empty() || content_.empty(); }

 private:
  std::string content_;
};

class byte_level_normalizer : public normalizer {
 public:
  expected<void> apply(aligned_text& text) const override {
    write_bytes(text);
    return {};
  }
  bool apply_in_place(std::string& text) const override { return text.empty(); }
};

class sequence_normalizer : public normalizer {
 public:
  explicit sequence_normalizer(std::vector<std::unique_ptr<const normalizer>> parts) : parts_(std::move(parts)) {}
  expected<void> apply(aligned_text& text) const override {
    for (const auto& part : parts_) TROUPE_TRY(part->apply(text));
    return {};
  }
  bool apply_in_place(std::string& text) const override {
    return std::ranges::all_of(parts_, [&](const auto& part) { return part->apply_in_place(text); });
  }

 private:
  std::vector<std::unique_ptr<const normalizer>> parts_;
};

template <class Made, class... Arguments>
made_normalizer make(Arguments&&... arguments) {
  return std::make_unique<Made>(std::forward<Arguments>(arguments)...);
}

made_normalizer read_bert(const json_part& part) {
  TROUPE_TRY(
      check_members(part, "BertNormalizer", {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}));
  bert_options options;
  options.cleans_text = TROUPE_TRY(truth_or(part, "clean_text", true));
  options.handles_chinese = TROUPE_TRY(truth_or(part, "handle_chinese_chars", true));
  options.lowers = TROUPE_TRY(truth_or(part, "lowercase", true));
  options.strips_accents = TROUPE_TRY(truth_or(part, "strip_accents", options.lowers));
  return make_bert_normalizer(options);
}

made_normalizer read_charsmap(const json_part& part) {
  TROUPE_TRY(check_members(part, "Precompiled", {"precompiled_charsmap"}));
  const json_part map = TROUPE_TRY(part.at("precompiled_charsmap"));
  const std::string text = TROUPE_TRY(map.text());
  const auto bytes = from_base64(text);
  if (!bytes) return map.wrong("is no base64");
  return make_charsmap_normalizer(*bytes, part.where());
}

made_normalizer read_configured_normalizer(const json_part& part, const std::string& type) {
  if (type == "Strip") {
    TROUPE_TRY(check_members(part, type, {"strip_left", "strip_right"}));
    const bool left = TROUPE_TRY(truth_or(part, "strip_left", true));
    return make<strip_normalizer>(left, TROUPE_TRY(truth_or(part, "strip_right", true)));
  }
  if (type == "Prepend") {
    TROUPE_TRY(check_members(part, type, {"prepend"}));
    return make<prepend_normalizer>(TROUPE_TRY(text_or(part, "prepend", "")));
  }
  if (type == "Replace") {
    TROUPE_TRY(check_members(part, type, {"pattern", "content"}));
    text_pattern pattern = TROUPE_TRY(read_pattern(TROUPE_TRY(part.at("pattern"))));
    return make<replace_normalizer>(std::move(pattern), TROUPE_TRY(text_or(part, "content", "")));
  }
  return unusable(part.where(), "a normalizer of type \"" + type + "\" is not supported");
}

}  // namespace

std::unique_ptr<const normalizer> make_nfc_normalizer() {
  return std::make_unique<normal_form_normalizer>(normal_form::nfc);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON text, which has a limit
expected<std::unique_ptr<const normalizer>> read_normalizer(const json_part& part) {
  const std::string type = TROUPE_TRY(type_of(part));
  if (type == "BertNormalizer") return read_bert(part);
  if (type == "Precompiled") return read_charsmap(part);
  if (type == "Sequence") {
    TROUPE_TRY(check_members(part, type, {"normalizers"}));
    std::vector<std::unique_ptr<const normalizer>> parts;
    for (const json_part& each : TROUPE_TRY(TROUPE_TRY(part.at("normalizers")).items())) {
      parts.push_back(TROUPE_TRY(read_normalizer(each)));
    }
    return make<sequence_normalizer>(std::move(parts));
  }
  if (type == "Strip" || type == "Prepend" || type == "Replace") return read_configured_normalizer(part, type);
  TROUPE_TRY(check_members(part, type, {}));
  if (type == "NFC") return make<normal_form_normalizer>(normal_form::nfc);
  if (type == "NFD") return make<normal_form_normalizer>(normal_form::nfd);
  if (type == "NFKC") return make<normal_form_normalizer>(normal_form::nfkc);
  if (type == "NFKD") return make<normal_form_normalizer>(normal_form::nfkd);
  if (type == "Lowercase") return make_bert_normalizer({false, false, false, true});
  if (type == "StripAccents") return make<accents_normalizer>();
  if (type == "Nmt") return make<nmt_normalizer>();
  if (type == "ByteLevel") return make<byte_level_normalizer>();
  return unusable(part.where(), "a normalizer of type \"" + type + "\" is not supported");
}

}  // namespace troupe
