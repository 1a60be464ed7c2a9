#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "messages/file_fixes.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Hands the events of a file to `reader`, a nlohmann::json_sax with a problem(). Errors: E0301, E0307 and E0303, and
/// the reader's own. The fixes are those of a path that names nothing, and of a file that is no text.
template <class Reader>
expected<void> read_json_file(const std::string& path, Reader& reader, const char* missing_fix,
                              const char* unreadable_fix) {
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    return fail(error_code::data_missing, path, "there is no such file", missing_fix);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return fail(error_code::data_unreadable, path, "it cannot be read, or is empty", unreadable_fix);
  }
  const bool is_whole = nlohmann::json::sax_parse(file, &reader);
  if (file.bad()) {
    return fail(error_code::data_unreadable, path, "it cannot be read to its end", "copy it to another disk");
  }
  if (reader.problem()) return tl::make_unexpected(*reader.problem());
  if (!is_whole) return fail(error_code::data_bad_format, path, "it is no JSON text", copy_again_fix);
  return {};
}

}  // namespace troupe
