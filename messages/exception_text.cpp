#include "messages/exception_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "messages/printable.hpp"

namespace troupe {
namespace {

constexpr int lines_max = 3;
constexpr std::size_t text_bytes_max = 600;
constexpr std::string_view white_space = " \t\r\n\v\f";
/// How LibTorch begins the frames behind a text; the second form with TORCH_SHOW_CPP_STACKTRACES.
constexpr std::array<std::string_view, 3> frames_begin = {"Exception raised from ",
                                                          "C++ CapturedTraceback:", "frame #0: "};
constexpr std::string_view traceback_begin = "Traceback of TorchScript";
constexpr std::string_view exception_type_end = "Error: ";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(white_space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white_space) - begin + 1);
}

/// Takes the first line off `rest`.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

bool begins_frames(std::string_view line) {
  return std::ranges::any_of(frames_begin, [&](std::string_view begin) { return line.starts_with(begin); });
}

std::string_view without_frames(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t at = text.size() - rest.size();
    if (begins_frames(take_line(rest))) return text.substr(0, at);
  }
  return text;
}

/// "RuntimeError: the message" without the type.
std::string_view without_type(std::string_view line) {
  const std::size_t end = line.find(exception_type_end);
  if (end == std::string_view::npos) return line;
  const bool is_type = std::ranges::all_of(
      line.substr(0, end), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
  return is_type ? line.substr(end + exception_type_end.size()) : line;
}

/// The interpreter puts tracebacks first, whose lines are indented or, of traced code, "file.py(12): forward"; and
/// "SomeError: message" behind them.
std::string_view without_tracebacks(std::string_view text) {
  const std::size_t at = text.rfind(traceback_begin);
  if (at == std::string_view::npos) return text;
  std::string_view rest = text.substr(at);
  take_line(rest);
  for (std::string_view left = rest; !left.empty();) {
    const std::string_view from = left;
    const std::string_view line = take_line(left);
    if (without_type(line).size() != line.size()) return without_type(from);
  }
  while (!rest.empty() && white_space.find(rest.front()) != std::string_view::npos) take_line(rest);
  return rest.empty() ? text : without_type(rest);
}

}  // namespace

std::string exception_text(const std::exception& caught) {
  const char* const said = caught.what();
  std::string_view rest = trimmed(without_tracebacks(without_frames(said == nullptr ? "" : said)));
  std::string lines;
  for (int line = 0; line < lines_max && !rest.empty(); ++line) {
    if (line > 0) lines += "; ";
    lines += trimmed(take_line(rest)).substr(0, text_bytes_max);
    rest = trimmed(rest);
  }
  std::ranges::replace(lines, '\t', ' ');
  return lines.empty() ? "an exception without a text" : printable(lines, text_bytes_max);
}

std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& caught) {
    return exception_text(caught);
  } catch (...) {
    return "something that is no std::exception";
  }
}

}  // namespace troupe
