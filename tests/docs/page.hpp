#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

/// A piece of a page's text and its line, counted from 1.
struct page_text {
  std::size_t line = 0;
  std::string text;
};

struct page_link {
  std::size_t line = 0;
  std::string target;  // as written: "models.md#export", "#eval", "https://..."
};

/// One fenced block, without its fences.
struct page_block {
  std::size_t line = 0;     // of the opening fence
  std::string language;     // "cpp", "toml", or empty
  bool is_in_main = false;  // marked by the line `<!-- compile: in main -->` before the fence
  std::string not_run;      // REASON of the line `<!-- not run: REASON -->` there
  std::string file;         // NAME of the line `<!-- file: NAME -->` there: page_commands_test.py makes and uses it
  std::vector<std::string> lines;
};

/// A page of the documentation, taken apart. Indented code counts as text without spans.
struct page {
  std::filesystem::path file;  // relative to the root of the tree
  std::vector<std::string> lines;
  std::vector<page_text> spans;  // between backticks, outside of fenced blocks
  std::vector<page_text> prose;  // lines outside of fenced blocks, as written
  std::vector<page_link> links;
  std::vector<page_block> blocks;
  std::vector<std::string> anchors;  // of its headings, as GitHub makes them
};

page read_page(const std::filesystem::path& root, const std::filesystem::path& file);

/// README.md, CONTRIBUTING.md and all of docs/, in order.
std::vector<page> read_pages(const std::filesystem::path& root);

}  // namespace troupe::testing
