#include <algorithm>
#include <array>
#include <string>

#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::array product = {"actors", "cli", "messages", "program", "runtime"};
constexpr const char* tells_it = "messages/exception_text.cpp";

/// "e" in `catch (const std::exception& e) {`; empty for any other line.
std::string caught_in(const std::string& line) {
  const std::string head = "catch (const std::exception& ";
  const std::size_t at = line.find(head);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + head.size();
  return line.substr(begin, line.find(')', begin) - begin);
}

}  // namespace

findings exception_findings(const fs::path& root) {
  findings found;
  for (const fs::path& file : source_files(root)) {
    if (std::ranges::find(product, file.begin()->string()) == product.end() || file == tells_it) continue;
    std::string caught;
    std::size_t number = 0;
    for (const std::string& line : read_lines(root / file)) {
      ++number;
      if (line.find("catch (") != std::string::npos) caught = caught_in(line);
      const bool asks = !caught.empty() && line.find(caught + ".what()") != std::string::npos;
      if (asks) found.push_back(file.string() + ":" + std::to_string(number) + ": what() in place of exception_text()");
    }
  }
  return found;
}

}  // namespace troupe::testing
