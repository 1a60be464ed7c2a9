// Goal: docs/config.md and the option table say the same. Method: the document's rows are looked up by the names and
// ranges that the table gives, and counted.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/config/option_table.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(config_document, has_a_row_for_every_option_and_no_other) {
  std::ifstream file(testing::source_dir() / "docs/config.md");
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line) && !line.starts_with("## ");) rows += line.starts_with("| `") ? 1 : 0;
  EXPECT_EQ(rows, all_options().size());
}

TEST(config_document, gives_names_and_ranges_of_the_table) {
  std::ifstream file(testing::source_dir() / "docs/config.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const option& each : all_options()) {
    const std::string head = "| `" + std::string(each.name) + "` |";
    const std::size_t begin = document.find(head);
    ASSERT_NE(begin, std::string::npos) << head;
    const std::string row = document.substr(begin, document.find('\n', begin) - begin);
    const bool whole_range = each.kind == option_kind::count || each.kind == option_kind::count_or_auto;
    constexpr double written_as_power = 9007199254740992.0;  // 2^53
    if (whole_range && each.name != "limit") {
      const auto maximum = each.maximum == written_as_power ? std::string("2^53")
                                                            : std::to_string(static_cast<std::uint64_t>(each.maximum));
      EXPECT_THAT(row, HasSubstr("whole number, " + std::to_string(static_cast<std::uint64_t>(each.minimum)) + " to " +
                                 maximum + " |"));
    }
  }
}

}  // namespace
}  // namespace troupe
