#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/text/aligned_text.hpp"

namespace troupe {

/// The normal forms of Unicode.
enum class normal_form { nfc, nfd, nfkc, nfkd };

/// How characters are decomposed and composed, by ICU's data, as far as Unicode 9 had them: that is the edition of the
/// `tokenizers` package. Threads: any.
class normal_form_table {
 public:
  /// Made once, in some milliseconds.
  static const normal_form_table& get();

  /// Whether the text may change.
  [[nodiscard]] bool may_change(std::string_view text, normal_form form) const noexcept;
  void apply(aligned_text& text, normal_form form) const;

 private:
  normal_form_table();

  struct unit {
    std::uint8_t combining_class = 0;
    char32_t c = 0;
    int change = 0;
  };
  using units = std::vector<unit>;

  void read(char32_t c);
  [[nodiscard]] bool is_inert(char32_t c, normal_form form) const noexcept;
  [[nodiscard]] std::uint8_t class_of(char32_t c) const noexcept;
  void decompose(std::string_view text, bool is_compatible, units& out) const;
  static void compose(units& all);

  /// A row for each character below the last one that changes: combining class, whether a form changes it (a bit each),
  /// and the place of its decompositions, canonical and compatible: a count in front of the characters.
  struct row {
    std::uint8_t combining_class = 0;
    std::uint8_t changed_by = 0;
    std::uint32_t canonical = 0;
    std::uint32_t compatible = 0;
  };
  std::vector<row> rows_;
  std::vector<char32_t> decompositions_;
};

}  // namespace troupe
