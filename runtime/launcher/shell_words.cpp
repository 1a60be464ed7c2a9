#include "runtime/launcher/shell_words.hpp"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string quote_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::vector<std::string> split_at_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return words;
}

std::optional<std::string> find_program(const std::string& name, std::string_view path) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) return name;
  while (true) {
    const std::size_t end = std::min(path.find(':'), path.size());
    // an empty part is the working directory
    const fs::path candidate = fs::path(end == 0 ? std::string_view(".") : path.substr(0, end)) / name;
    if (is_program(candidate)) return candidate.string();
    if (end == path.size()) return std::nullopt;
    path.remove_prefix(end + 1);
  }
}

std::string own_directory() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

std::string working_directory() {
  std::error_code unknown;
  const char* named = std::getenv("PWD");
  if (named != nullptr && *named == '/' && fs::equivalent(named, ".", unknown) && !unknown) return named;
  return fs::current_path(unknown).string();
}

}  // namespace troupe
