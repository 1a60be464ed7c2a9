// page_blocks ROOT OUT: writes the ```cpp blocks of README.md, CONTRIBUTING.md and docs/ as sources into the folder
// OUT. Programs with the same includes share a file, so that each compiles with the includes that it shows and no
// others. One more file has the main(): with the name of a program it runs it, without one it prints all names.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/docs/block_programs.hpp"

namespace {

using troupe::testing::block_program;

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  return static_cast<bool>(out.flush());
}

std::string in_namespace(const std::string& name, const std::string& text) {
  return "namespace " + name + " {\n" + text + "}  // namespace " + name + "\n";
}

/// "main()" or "main(argc, argv)".
std::string call_of(const block_program& program) {
  return program.name + (program.main.find("argv") == std::string::npos ? "::main()" : "::main(argc, argv)");
}

std::string dispatcher(const std::vector<block_program>& programs) {
  std::string text = "#include <iostream>\n#include <string>\n";
  std::string choices;
  std::string names;
  for (const block_program& each : programs) {
    if (each.main.empty()) continue;
    text += in_namespace(each.name, each.main + ";\n");
    choices += "  if (asked == \"" + each.name + "\") return " + call_of(each) + ";\n";
    names += "  std::cout << \"" + each.name + "\\n\";\n";
  }
  return text + "int main(int argc, char** argv) {\n  const std::string asked = argc > 1 ? argv[1] : \"\";\n" +
         choices + names + "  return asked.empty() ? 0 : 2;\n}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<block_program> programs;
  for (const auto& page : troupe::testing::read_pages(argv[1])) {
    for (block_program& each : troupe::testing::programs_of(page)) programs.push_back(std::move(each));
  }
  if (programs.empty()) return 1;
  std::map<std::string, std::string> by_includes;
  for (const block_program& each : programs) by_includes[each.includes] += in_namespace(each.name, each.body);
  const std::string out = std::string(argv[2]) + "/page_blocks_";
  int number = 0;
  for (const auto& [includes, text] : by_includes) {
    if (!write(out + std::to_string(number++) + ".cpp", includes + "\n" + text)) return 1;
  }
  return write(out + "main.cpp", dispatcher(programs)) ? 0 : 1;
}
