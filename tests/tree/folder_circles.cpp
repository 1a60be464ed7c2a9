#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// What a folder includes, and one include that shows it.
using includes_of_folder = std::map<fs::path, std::string>;
using folder_graph = std::map<fs::path, includes_of_folder>;

/// The folder of a file, cut to its first `depth` parts.
fs::path folder_of(const fs::path& file, std::size_t depth) {
  fs::path folder;
  for (const fs::path& part : file.parent_path()) {
    if (depth-- == 0) break;
    folder /= part;
  }
  return folder;
}

std::size_t depth_of(const fs::path& file) {
  return static_cast<std::size_t>(std::distance(file.begin(), file.end())) - 1;
}

/// Which file includes which, both as paths of the tree.
std::vector<std::pair<fs::path, fs::path>> includes_in(const fs::path& root) {
  std::vector<std::pair<fs::path, fs::path>> found;
  for (const fs::path& file : source_files(root)) {
    if (file.filename() == "CMakeLists.txt") continue;
    for (const std::string& line : read_lines(root / file)) {
      const auto include = included_in_tree(root, file, line);
      if (include) found.emplace_back(file, *include);
    }
  }
  return found;
}

folder_graph graph_at(const std::vector<std::pair<fs::path, fs::path>>& includes, std::size_t depth) {
  folder_graph graph;
  for (const auto& [file, include] : includes) {
    const fs::path from = folder_of(file, depth);
    const fs::path to = folder_of(include, depth);
    if (from != to) graph[from].emplace(to, file.string() + " includes " + include.string());
  }
  return graph;
}

/// All folders that `from` reaches by its includes and theirs.
std::set<fs::path> reached(const folder_graph& graph, const fs::path& from) {
  std::set<fs::path> seen;
  std::vector<fs::path> open{from};
  while (!open.empty()) {
    const auto found = graph.find(open.back());
    open.pop_back();
    if (found == graph.end()) continue;
    for (const auto& [to, example] : found->second) {
      if (seen.insert(to).second) open.push_back(to);
    }
  }
  return seen;
}

}  // namespace

findings circle_findings(const fs::path& root) {
  const auto includes = includes_in(root);
  std::size_t deepest = 0;
  for (const auto& [file, include] : includes) deepest = std::max({deepest, depth_of(file), depth_of(include)});
  std::set<std::string> found;
  for (std::size_t depth = 1; depth <= deepest; ++depth) {
    const folder_graph graph = graph_at(includes, depth);
    for (const auto& [from, ways] : graph) {
      for (const auto& [to, example] : ways) {
        if (reached(graph, to).contains(from)) found.insert(from.string() + " -> " + to.string() + ": " + example);
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace troupe::testing
