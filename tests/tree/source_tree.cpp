#include "tests/tree/source_tree.hpp"

#include <algorithm>
#include <fstream>

namespace troupe::testing {

namespace fs = std::filesystem;

std::vector<fs::path> source_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder :
       {"include", "messages", "runtime", "actors", "program", "cli", "examples", "bench", "testing", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& file = entry.path();
      const bool is_source =
          file.extension() == ".hpp" || file.extension() == ".cpp" || file.filename() == "CMakeLists.txt";
      if (entry.is_regular_file() && is_source) files.push_back(file.lexically_relative(root));
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> read_lines(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace troupe::testing
