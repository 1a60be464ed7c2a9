#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "tests/tree/source_text.hpp"
#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::array layers_looked_at = {"actors", "cli", "include", "messages", "program", "runtime"};

/// Types that the header defines outside of functions and other types, each with its namespace: "troupe::score_batch".
std::vector<std::string> types_in(const fs::path& header) {
  static const std::regex type(R"((?:class|struct|enum class)(?: alignas\([^)]*\))? (\w+)(?: final)?(?: :.*)? \{)");
  static const std::regex opened(R"(namespace ([\w:]+) \{)");
  std::vector<std::string> found;
  std::string space;
  std::istringstream lines(source_text(header).code());
  std::smatch parts;
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (std::regex_match(line, parts, opened)) space = parts[1];
    if (std::regex_search(line, parts, type, std::regex_constants::match_continuous)) {
      found.push_back(space + "::" + parts[1].str());
    }
  }
  return found;
}

}  // namespace

findings name_findings(const fs::path& root) {
  std::map<std::string, fs::path> first;
  findings found;
  for (const fs::path& file : source_files(root)) {
    const bool is_product = std::ranges::find(layers_looked_at, file.begin()->string()) != layers_looked_at.end();
    if (!is_product || file.extension() != ".hpp") continue;
    for (const std::string& type : types_in(root / file)) {
      const auto [place, is_new] = first.emplace(type, file);
      if (!is_new) found.push_back(file.string() + ": " + type + " is also defined in " + place->second.string());
    }
  }
  return found;
}

}  // namespace troupe::testing
