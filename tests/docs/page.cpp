#include "tests/docs/page.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view in_main_marker = "<!-- compile: in main -->";
constexpr std::string_view not_run_marker = "<!-- not run: ";
constexpr std::string_view file_marker = "<!-- file: ";

/// What a marker says; empty for any other line.
std::string text_of(std::string_view marker, std::string_view line) {
  constexpr std::string_view end = " -->";
  if (!line.starts_with(marker) || !line.ends_with(end)) return {};
  line.remove_prefix(marker.size());
  return std::string(line.substr(0, line.size() - std::min(line.size(), end.size())));
}

/// "## What a page is" is "what-a-page-is": lower case, spaces as hyphens, no other punctuation.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-') anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

/// Adds the spans of a line. Gives the beginning of a span that goes on in the next line, with its backtick.
std::string add_spans(page& result, std::size_t number, const std::string& line) {
  for (std::size_t begin = line.find('`'); begin != std::string::npos;) {
    const std::size_t end = line.find('`', begin + 1);
    if (end == std::string::npos) return line.substr(begin) + ' ';
    result.spans.push_back({number, line.substr(begin + 1, end - begin - 1)});
    begin = line.find('`', end + 1);
  }
  return {};
}

void add_links(page& result, std::size_t number, const std::string& line) {
  for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
    const std::size_t end = line.find(')', at);
    if (end != std::string::npos) result.links.push_back({number, line.substr(at + 2, end - at - 2)});
  }
}

void add_prose(page& result, std::size_t number, const std::string& line) {
  result.prose.push_back({number, line});
  if (line.starts_with('#')) {
    const std::size_t text = line.find_first_not_of("# ");
    if (text != std::string::npos) result.anchors.push_back(anchor_of(std::string_view(line).substr(text)));
  }
  add_links(result, number, line);
}

}  // namespace

page read_page(const fs::path& root, const fs::path& file) {
  page result;
  result.file = file;
  std::ifstream in(root / file);
  bool is_fenced = false;
  std::string open_span;
  for (std::string line; std::getline(in, line);) {
    const std::size_t number = result.lines.size() + 1;
    if (line.starts_with("```")) {
      const std::string before = result.lines.empty() ? "" : result.lines.back();
      if (!is_fenced) {
        result.blocks.push_back({number,
                                 line.substr(3),
                                 before == in_main_marker,
                                 text_of(not_run_marker, before),
                                 text_of(file_marker, before),
                                 {}});
      }
      is_fenced = !is_fenced;
    } else if (is_fenced) {
      result.blocks.back().lines.push_back(line);
    } else {
      add_prose(result, number, line);
      open_span = add_spans(result, number, line.empty() ? line : open_span + line);
    }
    result.lines.push_back(line);
  }
  return result;
}

std::vector<page> read_pages(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* file : {"README.md", "CONTRIBUTING.md", "data/README.md", "testing/simulation/README.md"}) {
    if (fs::exists(root / file)) files.emplace_back(file);
  }
  if (fs::exists(root / "docs")) {
    for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
      if (entry.path().extension() == ".md") files.push_back(entry.path().lexically_relative(root));
    }
  }
  std::ranges::sort(files);
  std::vector<page> pages;
  for (const fs::path& file : files) pages.push_back(read_page(root, file));
  return pages;
}

}  // namespace troupe::testing
