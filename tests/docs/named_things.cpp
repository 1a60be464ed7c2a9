#include "tests/docs/named_things.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// What a build or git puts into the root.
constexpr std::array not_ours = {"build", "out", ".git"};

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A comment keeps no name alive. (A string with two slashes loses its end: URLs name nothing.)
std::string without_comments(const std::string& text) {
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t comment = text.find("//", begin);
    kept.append(text, begin, std::min(comment, end) - begin) += '\n';
    begin = end + 1;
  }
  return kept;
}

void add_words(std::set<std::string>& words, std::string_view text) {
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    if (!is_name_char(text[begin])) continue;
    std::size_t end = begin;
    while (end < text.size() && is_name_char(text[end])) ++end;
    words.emplace(text.substr(begin, end - begin));
    begin = end;
  }
}

/// "--name" in quotes, or anywhere in a script.
void add_flags(std::set<std::string>& flags, const std::string& text, std::string_view before) {
  const std::string start = std::string(before) + "--";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    std::size_t end = at + start.size();
    while (end < text.size() && (is_name_char(text[end]) || text[end] == '-')) ++end;
    flags.insert(text.substr(at + before.size(), end - at - before.size()));
  }
}

/// Options have one name: micro_batch is --micro-batch and TROUPE_MICRO_BATCH.
void add_options(named_things& found, const std::string& text) {
  for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_name_char(text[end])) ++end;
    if (end == at + 1 || end >= text.size() || text[end] != '"') continue;
    std::string name = text.substr(at + 1, end - at - 1);
    std::string variable = "TROUPE_" + name;
    std::ranges::transform(variable, variable.begin(), [](unsigned char c) { return std::toupper(c); });
    found.words.insert(variable);
    std::ranges::replace(name, '_', '-');
    found.flags.insert("--" + name);
  }
}

/// Options of data are flags: .name = "skip-empty" is --skip-empty, or --data-skip-empty.
void add_data_options(named_things& found, const std::string& text) {
  const std::string start = ".name = \"";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    const std::string name = text.substr(begin, text.find('"', begin) - begin);
    found.flags.insert("--" + name);
    found.flags.insert("--data-" + name);
  }
}

/// "= 203," of the enumerators.
void add_codes(std::set<std::string>& codes, const std::string& text) {
  for (std::size_t at = text.find(" = "); at != std::string::npos; at = text.find(" = ", at + 1)) {
    const std::string digits = text.substr(at + 3, 3);
    if (std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) codes.insert("E0" + digits);
  }
}

void add_source(named_things& found, const fs::path& root, const fs::path& file) {
  const std::string extension = file.extension().string();
  const bool is_cpp = extension == ".hpp" || extension == ".cpp";
  const bool is_script = extension == ".sh" || extension == ".py" || file.filename() == "Makefile";
  const bool is_build = extension == ".cmake" || extension == ".json" || file.filename() == "CMakeLists.txt";
  const bool is_data = file.string().starts_with("data/") || file.string().starts_with("bench/results/");
  if (is_data || !(is_cpp || is_script || is_build)) return;
  const std::string raw = text_of(root / file);
  const std::string text = is_cpp ? without_comments(raw) : raw;
  if (file.string().starts_with("tests/") && file.filename() == "CMakeLists.txt") add_words(found.test_names, text);
  if (file.string().starts_with("tests/") && is_cpp) found.test_names.insert(file.stem().string());
  if (file.string().starts_with("tests/docs/")) return;  // names missing things
  add_words(found.words, text);
  if (extension == ".hpp") add_words(found.headers.emplace_back(), text);
  add_flags(found.flags, text, is_cpp ? "\"" : "");
  if (file.string().starts_with("runtime/config/option_table")) add_options(found, text);
  if (file.string().starts_with("runtime/data/") && extension == ".hpp") add_data_options(found, text);
  if (file == "include/troupe/error_code.hpp") add_codes(found.error_codes, text);
}

}  // namespace

named_things things_of(const fs::path& root) {
  named_things found;
  for (const auto& top : fs::directory_iterator(root)) {
    const std::string name = top.path().filename().string();
    if (std::ranges::find(not_ours, name) != not_ours.end()) continue;
    found.folders.insert(name);
    if (top.is_regular_file()) {
      found.file_names.insert(name);
      add_source(found, root, name);
    }
    if (!top.is_directory()) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top.path())) {
      if (!entry.is_regular_file()) continue;
      const fs::path file = entry.path().lexically_relative(root);
      found.file_names.insert(file.filename().string());
      add_source(found, root, file);
    }
  }
  return found;
}

}  // namespace troupe::testing
