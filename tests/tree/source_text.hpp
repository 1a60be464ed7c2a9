#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::testing {

/// A source as two texts of the same size, so that offsets and lines are those of the file.
class source_text {
 public:
  explicit source_text(const std::filesystem::path& file);

  /// Without comments, literals' contents and preprocessor lines: blanks are there instead.
  [[nodiscard]] const std::string& code() const { return code_; }
  /// The comments without their marks: blanks are there instead, and a ';' for each character of the code.
  [[nodiscard]] const std::string& comments() const { return comments_; }
  /// From 1.
  [[nodiscard]] std::size_t line_of(std::size_t offset) const;

 private:
  [[nodiscard]] bool is_next(std::string_view what) const {
    return std::string_view(text_).substr(at_).starts_with(what);
  }
  void step();
  void begin_line();
  void blank_to(std::size_t end);
  void take_comment_to(std::size_t end);
  [[nodiscard]] std::size_t end_of_raw_string() const;
  [[nodiscard]] std::size_t end_of_literal(char quote) const;

  std::string text_;
  std::string code_;
  std::string comments_;
  std::size_t at_ = 0;
  bool is_line_start_ = true;
  bool is_directive_ = false;
};

}  // namespace troupe::testing
