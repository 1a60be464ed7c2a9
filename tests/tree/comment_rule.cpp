#include <algorithm>
#include <string>

#include "tests/support/refused_words.hpp"
#include "tests/tree/source_text.hpp"
#include "tests/tree/source_tree.hpp"

namespace troupe::testing {

namespace fs = std::filesystem;

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
  }
  return found;
}

}  // namespace troupe::testing
