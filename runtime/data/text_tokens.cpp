#include "runtime/data/text_tokens.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "messages/try.hpp"
#include "runtime/data/byte_region.hpp"
#include "runtime/data/text_folder.hpp"
#include "runtime/data/token_rows.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {

namespace {

/// Lines longer than this are not looked at for a place to cut.
constexpr std::size_t line_bytes_looked_at = 4096;
/// Places that are tried before a text counts as one that has none.
constexpr int cuts_tried = 16;

constexpr bool is_space(char byte) noexcept {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/// A character that is no ASCII may be white space, too.
constexpr bool may_begin_piece(char byte) noexcept {
  return !is_space(byte) && static_cast<unsigned char>(byte) < 0x80;
}

class file_tokens {
 public:
  file_tokens(std::string path, const tokenizer& reader, std::uint64_t piece_bytes)
      : path_(std::move(path)), reader_(reader), wanted_(piece_bytes), piece_bytes_(piece_bytes) {}

  expected<text_tokens> read() {
    bytes_ = TROUPE_TRY(open_bytes(path_));
    if (bytes_->size() > UINT32_MAX) {
      return fail(error_code::data_bad_format, path_, "has 4 GiB or more", "split the file");
    }
    const auto around = TROUPE_TRY(special_tokens());
    made_.ids = around.first;
    made_.ends.assign(made_.ids.size(), 0);
    while (offset_ + text_.size() < bytes_->size() || !text_.empty()) TROUPE_TRY(read_piece());
    for (const token_id id : around.second) {
      made_.ids.push_back(id);
      made_.ends.push_back(static_cast<std::uint32_t>(bytes_->size()));
    }
    return std::move(made_);
  }

 private:
  /// Those before and behind a text.
  expected<std::pair<std::vector<token_id>, std::vector<token_id>>> special_tokens() const {
    const auto windows = TROUPE_TRY(reader_.encode("a"));
    const encoding& all = windows.front();
    std::size_t begin = 0;
    while (begin < all.size() && all.special_tokens_mask[begin] != 0) ++begin;
    std::size_t end = all.size();
    while (end > begin && all.special_tokens_mask[end - 1] != 0) --end;
    return std::pair(std::vector<token_id>(all.ids.begin(), all.ids.begin() + static_cast<std::ptrdiff_t>(begin)),
                     std::vector<token_id>(all.ids.begin() + static_cast<std::ptrdiff_t>(end), all.ids.end()));
  }

  expected<void> read_piece() {
    TROUPE_TRY(fill());
    std::size_t cut = text_.size();
    if (offset_ + text_.size() < bytes_->size()) {
      const auto found = TROUPE_TRY(find_cut());
      if (!found) return grow();
      cut = *found;
    }
    TROUPE_TRY(append(std::string_view(text_).substr(0, cut)));
    text_.erase(0, cut);
    offset_ += cut;
    wanted_ = piece_bytes_;
    return {};
  }

  /// Reads until the piece is as long as wanted, or to the end of the file.
  expected<void> fill() {
    const std::size_t before = text_.size();
    const std::uint64_t from = offset_ + before;
    const std::uint64_t more = std::min(bytes_->size() - from, wanted_ - std::min<std::uint64_t>(wanted_, before));
    if (more == 0) return {};
    text_.resize(before + more);
    return bytes_->read(from, std::span(reinterpret_cast<std::uint8_t*>(text_.data()) + before, more));
  }

  expected<void> grow() {
    if (text_.size() >= text_whole_bytes_max) {
      return fail(error_code::data_bad_format, path_ + ", offset " + std::to_string(offset_),
                  "there is no place to cut the text within " + std::to_string(text_whole_bytes_max >> 20) +
                      " MiB: no line break where the tokenizer gives both sides the same tokens as together",
                  "split the file");
    }
    wanted_ = 2 * text_.size();
    return {};
  }

  /// Looks from the end on.
  expected<std::optional<std::size_t>> find_cut() const {
    int tried = 0;
    for (std::size_t at = text_.size() - 1; at > 0 && tried < cuts_tried; --at) {
      if (text_[at - 1] != '\n' || !may_begin_piece(text_[at])) continue;
      const std::size_t begin = at == 1 ? std::string::npos : text_.rfind('\n', at - 2);
      const std::size_t first = begin == std::string::npos ? 0 : begin + 1;
      const std::size_t last = std::min(text_.find('\n', at), text_.size());
      if (at - first > line_bytes_looked_at || last - at > line_bytes_looked_at) continue;
      ++tried;
      const std::string_view all = text_;
      if (TROUPE_TRY(are_apart(all.substr(first, at - first), all.substr(at, last - at)))) return std::optional(at);
    }
    return std::optional<std::size_t>();
  }

  /// The last line of a piece may end inside of a character: such a place is not taken.
  expected<bool> are_apart(std::string_view before, std::string_view behind) const {
    const std::string both = std::string(before) + std::string(behind);
    if (utf8::invalid_utf8_at(both) != std::string_view::npos) return false;
    std::vector<token_id> apart = TROUPE_TRY(ids_of(reader_, before));
    const std::vector<token_id> second = TROUPE_TRY(ids_of(reader_, behind));
    apart.insert(apart.end(), second.begin(), second.end());
    return apart == TROUPE_TRY(ids_of(reader_, both));
  }

  expected<void> append(std::string_view piece) {
    const std::size_t bad = utf8::invalid_utf8_at(piece);
    if (bad != std::string_view::npos) {
      return fail(error_code::data_bad_format, path_ + ", offset " + std::to_string(offset_ + bad),
                  "the text is no UTF-8 there", "save the file as UTF-8");
    }
    const auto windows = TROUPE_TRY(reader_.encode(piece, {.add_special_tokens = false}));
    const encoding& read = windows.front();
    if (read.size() > tokens_kept_max - made_.ids.size()) {
      return fail(error_code::data_bad_format, path_,
                  "has more than " + std::to_string(tokens_kept_max) + " tokens, which are kept in memory",
                  "split the file");
    }
    made_.ids.insert(made_.ids.end(), read.ids.begin(), read.ids.end());
    std::uint32_t last = made_.ends.empty() ? 0 : made_.ends.back();
    for (const text_span span : read.offsets) {
      last = std::max(last, static_cast<std::uint32_t>(offset_) + span.end);
      made_.ends.push_back(last);
    }
    return {};
  }

  const std::string path_;
  const tokenizer& reader_;
  std::uint64_t wanted_;
  const std::uint64_t piece_bytes_;
  byte_region_ptr bytes_;
  /// What was read and has no tokens yet, and where it begins.
  std::string text_;
  std::uint64_t offset_ = 0;
  text_tokens made_;
};

}  // namespace

expected<text_tokens> read_text_tokens(const std::string& path, const tokenizer& reader, std::uint64_t piece_bytes) {
  return file_tokens(path, reader, piece_bytes).read();
}

}  // namespace troupe
