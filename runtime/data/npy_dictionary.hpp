#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct npy_dictionary {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// The literal dictionary of a .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (10, 3), }. Keys in any
/// order, either kind of quotes, commas optional where Python lets them be; nothing else of Python.
class npy_dictionary_parser {
 public:
  explicit npy_dictionary_parser(std::string_view text) : text_(text) {}

  /// Nothing if the text is anything else; position() and expected_here() then say where and what was wanted.
  std::optional<npy_dictionary> parse();

  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] const std::string& expected_here() const noexcept { return expected_; }

 private:
  bool entry(npy_dictionary& into);
  bool value(const std::string& key, npy_dictionary& into);
  bool boolean(bool& into);
  bool string(std::string& into);
  bool tuple(std::vector<std::int64_t>& into);
  bool number(std::int64_t& into);

  void skip_space();
  bool accept(char c);
  bool want(char c);
  bool want_failed(std::string what);

  std::string_view text_;
  std::size_t position_ = 0;
  std::string expected_;
  std::vector<std::string> seen_;
};

}  // namespace troupe
