// Goal: ids, offsets, masks, windows and decoded texts are those of the `tokenizers` package, for each kind of
// tokenizer, over texts of many languages and lines of 1 MiB. Method: record.py has written them.
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "../../support/paths.hpp"
#include "text_cases.hpp"

namespace troupe::testing {
namespace {

TEST(recorded_texts, are_those_of_the_package) {
  const auto folder = std::filesystem::temp_directory_path() / ("troupe_text_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  unpack_tokenizers(folder);
  EXPECT_GT(compare_cases(source_dir() / "tests/runtime/text/recorded/cases.jsonl.gz", folder), 800U);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace troupe::testing
