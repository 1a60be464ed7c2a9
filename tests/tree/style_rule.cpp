#include <algorithm>
#include <string>

#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t lines_max = 400;

std::string line_objection(const std::string& line) {
  // in two halves, or this file would break its own rule
  for (const std::string& note : {std::string("TO") + "DO", std::string("FIX") + "ME"}) {
    if (line.find(note) != std::string::npos) return "note to self";
  }
  if (line.find('\t') != std::string::npos) return "tab";
  if (line.ends_with(' ') || line.ends_with('\r')) return "white space at the end of the line";
  return {};
}

bool needs_guard(const fs::path& file) {
  return file.extension() == ".hpp" && !file.stem().string().ends_with("_pch");
}

}  // namespace

findings style_findings(const fs::path& root) {
  findings found;
  for (const fs::path& file : source_files(root)) {
    const auto lines = read_lines(root / file);
    const auto say = [&](std::size_t line, const std::string& why) {
      found.push_back(file.string() + ":" + std::to_string(line) + ": " + why);
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (const std::string why = line_objection(lines[i]); !why.empty()) say(i + 1, why);
    }
    if (lines.size() > lines_max) say(lines.size(), "file of " + std::to_string(lines.size()) + " lines");
    if (needs_guard(file) && std::ranges::find(lines, "#pragma once") == lines.end()) say(1, "no #pragma once");
  }
  return found;
}

}  // namespace troupe::testing
