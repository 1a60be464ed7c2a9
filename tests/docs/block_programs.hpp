#pragma once

#include <string>
#include <vector>

#include "tests/docs/page.hpp"

namespace troupe::testing {

/// One or several ```cpp blocks of a page as a piece of a source, in a namespace of its own.
struct block_program {
  std::string name;      // of the namespace: "docs_data_md_56", by its first block
  std::string includes;  // the lines of its blocks, which stand before the namespace
  std::string body;
  std::string main;  // "int main()" or "int main(int argc, char** argv)"; empty where nothing is run
};

/// What the ```cpp blocks of a page are to a compiler. A block with a main() is a program; the lines after
/// `<!-- compile: in main -->` are the body of one. A block of definitions belongs to the next program of its page. A
/// block after `<!-- not run: REASON -->` is compiled alone; one after `<!-- file: NAME -->` is none of them.
std::vector<block_program> programs_of(const page& page);

/// Blocks of definitions that no block of their page runs, and no line says why: "docs/data.md:56: ...".
std::vector<std::string> unrun_findings(const page& page);

}  // namespace troupe::testing
