#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A text of which some characters stood in double quotes, which are left out: these separate nothing.
class marked_text {
 public:
  /// A double quote at the beginning, or behind one of `separators`, begins a quoted stretch. It ends at the next
  /// double quote that is not doubled; two of them stand for one. Other double quotes are characters like others.
  /// Nothing where a stretch does not end.
  static std::optional<marked_text> read(std::string_view text, std::string_view separators);

  /// The parts between these characters where they are not quoted: one at least.
  [[nodiscard]] std::vector<marked_text> split(char separator) const;
  /// Before and behind the first such character that is not quoted; nothing if there is none.
  [[nodiscard]] std::optional<std::pair<marked_text, marked_text>> cut_at(char separator) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool has_quotes() const noexcept { return is_quoted_at_all_; }

 private:
  [[nodiscard]] marked_text part(std::size_t begin, std::size_t end) const;

  std::string text_;
  std::vector<bool> quoted_;
  /// Also where nothing stood between the quotes.
  bool is_quoted_at_all_ = false;
};

/// `text` as marked_text::read() takes it: in double quotes if it has one of `separators` or begins with a double
/// quote.
std::string quoted_where_needed(const std::string& text, std::string_view separators);

}  // namespace troupe
