#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/support/refused_words.hpp"
#include "tests/tree/source_text.hpp"
#include "tests/tree/source_tree.hpp"

namespace troupe::testing {

namespace fs = std::filesystem;

namespace {

/// Its subject would be the name below, which the reader has not read yet.
bool begins_without_subject(std::string_view comment) {
  const auto code_end = comment.find_last_of(';');
  comment.remove_prefix(code_end == std::string_view::npos ? 0 : code_end + 1);
  comment.remove_prefix(std::min(comment.find_first_not_of(' '), comment.size()));
  return comment.starts_with("Of ");
}

bool is_product(const fs::path& file) {
  const std::string folder = file.begin()->string();
  return folder != "tests" && folder != "testing" && folder != "bench";
}

void find_missing_subjects(const fs::path& file, const std::string& comments, findings& found) {
  std::istringstream lines(comments);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (begins_without_subject(line))
      found.push_back(file.string() + ":" + std::to_string(number) + ": a comment begins with \"Of\"");
  }
}

}  // namespace

findings comment_findings(const fs::path& root) {
  findings found;
  for (const fs::path& file : source_files(root)) {
    if (file.filename() == "CMakeLists.txt") continue;
    const source_text text(root / file);
    auto places = refused_words_in(text.comments());
    std::ranges::sort(places, {}, &refused_place::at);
    for (const auto& [at, words] : places) {
      found.push_back(file.string() + ":" + std::to_string(text.line_of(at)) + ": \"" + std::string(words) +
                      "\" in a comment");
    }
    if (is_product(file)) find_missing_subjects(file, text.comments(), found);
  }
  return found;
}

}  // namespace troupe::testing
