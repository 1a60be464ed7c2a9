#include "tests/docs/block_programs.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace troupe::testing {
namespace {

constexpr std::string_view main_begin = "int main(";
constexpr const char* main_of_lines = "int main([[maybe_unused]] int argc, [[maybe_unused]] char** argv)";

std::string name_for(const page& page, const page_block& block) {
  std::string name = page.file.string() + '_' + std::to_string(block.line);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

bool is_program(const page_block& block) {
  return block.is_in_main ||
         std::ranges::any_of(block.lines, [](const std::string& line) { return line.starts_with(main_begin); });
}

/// A main() that is not the program's gives what it returns; a block's gives nothing.
void add(block_program& to, const page& page, const page_block& block) {
  to.body += "#line " + std::to_string(block.line + 1) + " \"" + page.file.string() + "\"\n";
  if (block.is_in_main) to.main = main_of_lines;
  if (block.is_in_main) to.body = to.body + to.main + " {\n#line " + std::to_string(block.line + 1) + "\n";
  bool is_main_open = false;
  for (const std::string& line : block.lines) {
    const bool is_include = line.starts_with("#include ");
    if (is_include && to.includes.find(line + '\n') == std::string::npos) to.includes += line + '\n';
    if (line.starts_with(main_begin)) to.main = line.substr(0, line.find(')') + 1);
    is_main_open = is_main_open || line.starts_with(main_begin);
    const bool ends_main = is_main_open && line == "}";
    if (ends_main) is_main_open = false;
    to.body += (is_include ? "" : ends_main ? "return 0; }" : line) + '\n';
  }
  if (block.is_in_main) to.body += "return 0;\n}\n";
}

/// The blocks of each program, in order; those that nothing runs are one by themselves.
std::vector<std::vector<const page_block*>> grouped(const page& page) {
  std::vector<std::vector<const page_block*>> groups;
  std::vector<const page_block*> open;
  for (const page_block& block : page.blocks) {
    if (block.language != "cpp" || !block.file.empty()) continue;
    if (!block.not_run.empty()) {
      groups.push_back({&block});
      continue;
    }
    open.push_back(&block);
    if (is_program(block)) groups.push_back(std::exchange(open, {}));
  }
  if (!open.empty()) groups.push_back(open);
  return groups;
}

}  // namespace

std::vector<block_program> programs_of(const page& page) {
  std::vector<block_program> made;
  for (const auto& group : grouped(page)) {
    block_program& one = made.emplace_back();
    one.name = name_for(page, *group.front());
    for (const page_block* block : group) add(one, page, *block);
    if (!group.front()->not_run.empty()) one.main.clear();
  }
  return made;
}

std::vector<std::string> unrun_findings(const page& page) {
  std::vector<std::string> found;
  for (const auto& group : grouped(page)) {
    if (is_program(*group.back()) || !group.front()->not_run.empty()) continue;
    found.push_back(page.file.string() + ":" + std::to_string(group.front()->line) +
                    ": no block runs it, and no line <!-- not run: REASON --> says why");
  }
  return found;
}

}  // namespace troupe::testing
