#include "runtime/text/normal_form.hpp"
#include "runtime/text/normalizer.hpp"
#include "runtime/text/unicode_classes.hpp"

namespace troupe {
namespace {

using unicode::character_table;

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class bert_normalizer : public normalizer {
 public:
  explicit bert_normalizer(const bert_options& options) : options_(options) {}

  expected<void> apply(aligned_text& text) const override {
    if (options_.cleans_text) clean(text);
    if (options_.handles_chinese) separate_chinese(text);
    if (options_.strips_accents) {
      normal_form_table::get().apply(text, normal_form::nfd);
      remove_marks(text);
    }
    if (options_.lowers) lower(text);
    return {};
  }

  bool apply_in_place(std::string& text) const override {
    for (char& c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) return false;
      if (options_.cleans_text && (byte < 0x20 || byte == 0x7F)) {
        if (c != '\t' && c != '\n' && c != '\r') return false;
        c = ' ';
      }
      if (options_.lowers && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    return true;
  }

 private:
  static void clean(aligned_text& text) {
    const character_table& table = character_table::get();
    filter_characters(text, [&](char32_t c) { return !table.has(c, unicode::control); });
    map_characters(text, [&](char32_t c) { return table.has(c, unicode::white_space) ? U' ' : c; });
  }

  static void separate_chinese(aligned_text& text) {
    const std::string& old = text.text;
    text_rewriter out(text);
    for (std::size_t at = 0; at < old.size();) {
      const char32_t c = utf8::next(old, at);
      if (is_chinese(c)) {
        out.put(U' ', 0);
        out.put(c, 1);
        out.put(U' ', 1);
      } else {
        out.put(c, 0);
      }
    }
    out.finish();
  }

  static void remove_marks(aligned_text& text) {
    const character_table& table = character_table::get();
    filter_characters(text, [&](char32_t c) { return !table.has(c, unicode::mark_nonspacing); });
  }

  static void lower(aligned_text& text) {
    const std::string& old = text.text;
    text_rewriter out(text);
    for (std::size_t at = 0; at < old.size();) {
      const unicode::lower_case made = unicode::to_lower(utf8::next(old, at));
      out.put(made.first, 0);
      if (made.second != 0) out.put(made.second, 1);
    }
    out.finish();
  }

  bert_options options_;
};

}  // namespace

std::unique_ptr<const normalizer> make_bert_normalizer(const bert_options& options) {
  return std::make_unique<bert_normalizer>(options);
}

}  // namespace troupe
