#include "text_lines.hpp"

#include <filesystem>
#include <fstream>

#include "runtime/text/utf8.hpp"

namespace troupe::cli {

expected<std::vector<std::string>> read_text_lines(const std::string& path) {
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    return fail(error_code::data_missing, path, "there is no such file", "correct the path");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    return fail(error_code::data_unreadable, path, "it cannot be read", "give a text file that this user may read");
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (lines.empty() && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (utf8::invalid_utf8_at(line) != std::string::npos) {
      return fail(error_code::data_bad_format, path + ", line " + std::to_string(lines.size() + 1),
                  "it has bytes that are no UTF-8", "convert the file to UTF-8");
    }
    lines.push_back(std::move(line));
  }
  if (file.bad()) {
    return fail(error_code::data_unreadable, path, "it cannot be read to its end", "copy it to another disk");
  }
  return lines;
}

}  // namespace troupe::cli
