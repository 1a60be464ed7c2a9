// Goal: the same for random texts, other ones in each run, against the package itself; the seed is printed.
// Method: record.py, run by the Python that TROUPE_TORCH_PYTHON names, else python3, if that has `tokenizers`. With
// TROUPE_ALL_CASES=1 there are 10,000 texts. Tokenizers with regular expressions get no characters that the package's
// Oniguruma has and the installed one does not.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "../../support/paths.hpp"
#include "runtime/text/regex.hpp"
#include "runtime/text/utf8.hpp"
#include "text_cases.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

std::string python() {
  const char* given = std::getenv("TROUPE_TORCH_PYTHON");
  return given != nullptr ? given : "python3";
}
int run(const std::string& arguments) {
  return std::system(("\"" + python() + "\" " + arguments).c_str());
}

/// Writes first and last of the characters that Oniguruma's edition of Unicode does not have, one pair per line.
void write_unassigned(const fs::path& file) {
  std::string all;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c < 0xD800 || c > 0xDFFF) utf8::append(all, c);
  }
  const auto unassigned = regex::compile(R"(\p{Cn}+)");
  ASSERT_TRUE(unassigned);
  regex_search search(*unassigned, all);
  std::ofstream out(file);
  while (const auto match = search.next()) {
    std::size_t first = match->begin;
    std::size_t last = utf8::before(all, match->end);
    out << static_cast<std::uint32_t>(utf8::next(all, first)) << ' ';
    out << static_cast<std::uint32_t>(utf8::next(all, last)) << '\n';
  }
}

TEST(live_texts, are_those_of_the_package) {
  if (std::getenv("TROUPE_TORCH_PYTHON") == nullptr && run("-c 'import tokenizers' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3 has no tokenizers: name a Python that has it in TROUPE_TORCH_PYTHON";
  }
  const fs::path folder = fs::temp_directory_path() / ("troupe_live_text_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  unpack_tokenizers(folder);
  write_unassigned(folder / "unassigned.txt");
  const char* given_seed = std::getenv("TROUPE_TEXT_SEED");
  const std::string seed = given_seed != nullptr ? given_seed : std::to_string(std::random_device()() % 1'000'000);
  std::cout << "TROUPE_TEXT_SEED=" << seed << '\n';
  const std::string count = std::getenv("TROUPE_ALL_CASES") != nullptr ? "720" : "40";
  const std::string script = "\"" + (source_dir() / "tests/runtime/text/record.py").string() + "\" random ";
  ASSERT_EQ(run(script + "\"" + folder.string() + "\" " + seed + " " + count + " 2>/dev/null"), 0);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".gz") compare_cases(entry.path(), folder);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace troupe::testing
