#include "text_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "runtime/os/input_file.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe::cli {

expected<std::vector<std::string>> read_text_lines(const std::string& path) {
  constexpr std::size_t bytes_max = std::size_t{256} << 20;
  constexpr std::size_t lines_max = 1'000'000;
  const auto text = read_small_input(path, bytes_max);
  if (!text && text.error().number == ENOENT) {
    return fail(error_code::data_missing, path, "there is no such file", "correct the path");
  }
  if (!text) {
    return fail(error_code::data_unreadable, path, text.error().cause, "give a text file that this user may read");
  }
  if (text->size() > bytes_max) {
    return fail(error_code::data_bad_format, path, "it has more than 256 MiB", "score parts of it");
  }
  std::vector<std::string> lines;
  std::string_view rest = *text;
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; rest.starts_with(mark)) rest.remove_prefix(mark.size());
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string place = path + ", line " + std::to_string(lines.size() + 1);
    if (lines.size() == lines_max) {
      return fail(error_code::data_bad_format, place, "it has more than a million lines", "score parts of it");
    }
    if (utf8::invalid_utf8_at(line) != std::string_view::npos) {
      return fail(error_code::data_bad_format, place, "it has bytes that are no UTF-8", "convert the file to UTF-8");
    }
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace troupe::cli
