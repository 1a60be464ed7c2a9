#include <cstring>
#include <optional>
#include <vector>

#include <unicode/uchar.h>

#include "messages/try.hpp"
#include "runtime/text/charsmap.hpp"
#include "runtime/text/normalizer.hpp"
#include "runtime/text/tokenizer_part.hpp"

namespace troupe {
namespace {

/// A longer cluster is not looked up as a whole.
constexpr std::size_t cluster_bytes_max = 5;

/// Where the user-perceived character at `at` ends (Unicode Standard Annex 29, rules GB3 to GB13).
class cluster_end_finder {
 public:
  explicit cluster_end_finder(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t end_from(std::size_t at) const {
    char32_t before = utf8::next(text_, at);
    if (before < 0x80 && (at == text_.size() || static_cast<unsigned char>(text_[at]) < 0x80)) {
      return before == U'\r' && at < text_.size() && text_[at] == '\n' ? at + 1 : at;
    }
    bool is_pictograph = u_hasBinaryProperty(static_cast<UChar32>(before), UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
    std::size_t flags = kind(before) == U_GCB_REGIONAL_INDICATOR ? 1 : 0;
    while (at < text_.size()) {
      std::size_t behind = at;
      const char32_t c = utf8::next(text_, behind);
      const bool joins_flags =
          kind(before) == U_GCB_REGIONAL_INDICATOR && kind(c) == U_GCB_REGIONAL_INDICATOR && flags % 2 == 1;
      const bool joins_pictographs = is_pictograph && kind(before) == U_GCB_ZWJ &&
                                     u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
      if (!joins_flags && !joins_pictographs && is_edge(kind(before), kind(c))) return at;
      flags += kind(c) == U_GCB_REGIONAL_INDICATOR ? 1 : 0;
      // An emoji stays one behind its extensions.
      if (kind(c) != U_GCB_EXTEND && kind(c) != U_GCB_ZWJ) {
        is_pictograph = u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
      }
      before = c;
      at = behind;
    }
    return at;
  }

 private:
  static int kind(char32_t c) { return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK); }

  static bool is_edge(int left, int right) {
    const auto is_control = [](int k) { return k == U_GCB_CONTROL || k == U_GCB_CR || k == U_GCB_LF; };
    if (left == U_GCB_CR && right == U_GCB_LF) return false;
    if (is_control(left) || is_control(right)) return true;
    const bool is_vowel = right == U_GCB_V || right == U_GCB_LV || right == U_GCB_LVT;
    if (left == U_GCB_L && (right == U_GCB_L || is_vowel)) return false;
    if ((left == U_GCB_LV || left == U_GCB_V) && (right == U_GCB_V || right == U_GCB_T)) return false;
    if ((left == U_GCB_LVT || left == U_GCB_T) && right == U_GCB_T) return false;
    if (right == U_GCB_EXTEND || right == U_GCB_ZWJ || right == U_GCB_SPACING_MARK) return false;
    return left != U_GCB_PREPEND;
  }

  std::string_view text_;
};

/// Holds the last character back: characters that are removed behind it belong to it. Those that are removed before
/// the first one are forgotten, as the package does it.
class held_writer {
 public:
  explicit held_writer(aligned_text& text) : out_(text) {}

  void put(char32_t c, int change) {
    if (last_) out_.put(last_->first, last_->second);
    last_ = {c, change};
  }
  void drop(int count) {
    if (last_) last_->second -= count;
  }
  void finish() {
    if (last_) out_.put(last_->first, last_->second);
    out_.finish();
  }

 private:
  text_rewriter out_;
  std::optional<std::pair<char32_t, int>> last_;
};

class charsmap_normalizer : public normalizer {
 public:
  explicit charsmap_normalizer(charsmap map) : map_(std::move(map)) {}

  expected<void> apply(aligned_text& text) const override {
    const std::string& old = text.text;
    const cluster_end_finder clusters(old);
    held_writer out(text);
    for (std::size_t at = 0; at < old.size();) {
      const std::size_t end = clusters.end_from(at);
      const std::string_view cluster = std::string_view(old).substr(at, end - at);
      const auto whole = cluster.size() <= cluster_bytes_max ? map_.first(cluster) : std::nullopt;
      if (whole) {
        put(cluster, *whole, out);
      } else {
        put_characters(cluster, out);
      }
      at = end;
    }
    out.finish();
    return {};
  }

  bool apply_in_place(std::string& text) const override {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
      const std::size_t length = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
      if (length == 2) return false;
      const auto other = map_.first(std::string_view(text).substr(at, 1));
      if (!other) continue;
      if (other->size() != 1 || static_cast<unsigned char>(other->front()) >= 0x80) return false;
      text[at] = other->front();
    }
    return true;
  }

 private:
  void put_characters(std::string_view cluster, held_writer& out) const {
    for (std::size_t at = 0; at < cluster.size();) {
      const std::size_t start = at;
      const char32_t c = utf8::next(cluster, at);
      const std::string_view part = cluster.substr(start, at - start);
      if (const auto other = map_.first(part)) {
        put(part, *other, out);
      } else {
        out.put(c, 0);
      }
    }
  }

  /// Where the new text is longer, its last characters are new; where it is shorter, its last one takes the rest.
  void put(std::string_view part, std::string_view other, held_writer& out) const {
    const auto old_count = static_cast<std::ptrdiff_t>(utf8::count(part));
    const auto count = static_cast<std::ptrdiff_t>(utf8::count(other));
    std::ptrdiff_t index = 0;
    for (std::size_t at = 0; at < other.size(); ++index) {
      const char32_t c = utf8::next(other, at);
      int change = index >= old_count ? 1 : 0;
      if (index + 1 == count && count < old_count) change = static_cast<int>(count - old_count);
      out.put(c, change);
    }
    if (count == 0) out.drop(static_cast<int>(old_count));
  }

  charsmap map_;
};

}  // namespace

expected<std::unique_ptr<const normalizer>> make_charsmap_normalizer(const std::string& bytes,
                                                                     const std::string& where) {
  return std::make_unique<charsmap_normalizer>(TROUPE_TRY(charsmap::from_bytes(bytes, where)));
}

}  // namespace troupe
