// page_blocks ROOT OUT: writes the ```cpp blocks of README.md, CONTRIBUTING.md and docs/ as sources into the folder
// OUT. Blocks with the same includes share a file, so that each compiles with the includes that it shows and no others;
// each has a namespace of its own, so that several may have a main(). The includes stand in front. A block after the
// line
// `<!-- compile: in main -->` is the body of a main(argc, argv).
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/docs/page.hpp"

namespace {

/// By their includes: the text of all blocks that have these.
using sources = std::map<std::string, std::string>;

void add(sources& all, const troupe::testing::page& page, const troupe::testing::page_block& block) {
  std::string includes;
  std::string body = "#line " + std::to_string(block.line + 1) + " \"" + page.file.string() + "\"\n";
  for (const std::string& line : block.lines) {
    const bool is_include = line.starts_with("#include ");
    if (is_include) includes += line + '\n';
    body += (is_include ? "" : line) + '\n';
  }
  std::string& text = all[includes];
  const std::string name = "block_" + std::to_string(text.size());
  if (block.is_in_main)
    body = "int main([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {\n" + body + "return 0;\n}\n";
  text += "namespace " + name + " {\n" + body + "}  // namespace " + name + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sources all;
  for (const auto& page : troupe::testing::read_pages(argv[1])) {
    for (const auto& block : page.blocks) {
      if (block.language == "cpp") add(all, page, block);
    }
  }
  if (all.empty()) return 1;
  int number = 0;
  for (const auto& [includes, text] : all) {
    std::ofstream out(std::string(argv[2]) + "/page_blocks_" + std::to_string(number++) + ".cpp");
    out << includes << '\n' << text;
    if (!out.flush()) return 1;
  }
}
