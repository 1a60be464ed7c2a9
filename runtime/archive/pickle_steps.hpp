#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// One opcode of a pickle with its argument. The views are of the pickle.
struct pickle_step {
  char code = 0;
  /// A number, sign-extended; the bits of a double; a place in the memo.
  std::uint64_t number = 0;
  /// A text, bytes, the digits of a long number (little-endian), or the module of a GLOBAL.
  std::string_view text = {};
  /// The name in the module of a GLOBAL.
  std::string_view name = {};
};

/// Splits a pickle (Python's pickletools.py describes the opcodes) into its steps, those that begin with protocol 2 and
/// the few older ones without text lines. Runs and builds nothing.
class pickle_steps {
 public:
  explicit pickle_steps(std::string_view bytes) : rest_(bytes), bytes_(bytes.size()) {}

  /// The next step. Nothing where the bytes end before it does, or its opcode is not known.
  std::optional<pickle_step> next();
  /// After next() gave nothing: the bytes have ended.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// Bytes that were read.
  [[nodiscard]] std::size_t position() const noexcept { return bytes_ - rest_.size(); }

 private:
  bool argument(pickle_step& step);
  bool take_number(pickle_step& step, unsigned width);
  bool take_text(std::string_view& text, std::uint64_t bytes);
  bool take_counted(pickle_step& step, unsigned width);
  bool take_line(std::string_view& line);

  std::string_view rest_;
  std::size_t bytes_;
  bool is_cut_off_ = false;
};

}  // namespace troupe
