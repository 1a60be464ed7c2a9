// Goal: docs/coverage.md has a row for each metric and each kind of data, and each of its rows names a test that there
// is. Method: names as the tables in the sources have them; rows of the page cell by cell. (That files exist, docs_test
// says of every link.)
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/docs/page.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;

std::string source_text(const fs::path& file) {
  std::ifstream in(source_dir() / file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `table{"NAME"` in a source, each.
std::vector<std::string> names_in(const fs::path& file, const std::string& table) {
  const std::string text = source_text(file);
  const std::regex row(table + "\\{\"([A-Za-z0-9_]+)\"");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

/// The lines of the tables that are no heads.
std::vector<std::string> rows_of(const page& from) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < from.lines.size(); ++i) {
    const bool is_head = i + 1 < from.lines.size() && from.lines[i + 1].starts_with("|--");
    if (from.lines[i].starts_with("| ") && !is_head) rows.push_back(from.lines[i]);
  }
  return rows;
}

std::vector<std::string> first_cells(const std::vector<std::string>& rows) {
  std::vector<std::string> cells;
  for (const std::string& row : rows) {
    const std::string cell = row.substr(2, row.find(" |", 2) - 2);
    cells.push_back(cell.front() == '`' ? cell.substr(1, cell.rfind('`') - 1) : cell);
  }
  return cells;
}

TEST(coverage, has_a_row_for_each_metric_and_kind_of_data) {
  const std::vector<std::string> first = first_cells(rows_of(read_page(source_dir(), "docs/coverage.md")));
  const auto metrics = names_in("runtime/metric/metric_table.hpp", "metric_kind");
  const auto kinds = names_in("runtime/data/data_kinds.hpp", "data_kind");
  EXPECT_THAT(metrics, Contains("accuracy"));
  EXPECT_THAT(kinds, Contains("mnist"));
  for (const std::string& name : metrics) EXPECT_EQ(std::ranges::count(first, name), 1) << "the metric " << name;
  for (const std::string& name : kinds)
    EXPECT_EQ(std::ranges::count(first, name + ":"), 1) << "the kind of data " << name;
}

TEST(coverage, each_row_names_a_test_and_a_reference) {
  const std::regex row(R"(.*\]\(\.\./(tests/[^)]*_test\.cpp)\) \| [^|]+ \|)");
  std::vector<std::string> wrong;
  for (const std::string& line : rows_of(read_page(source_dir(), "docs/coverage.md"))) {
    std::smatch named;
    const bool is_right =
        std::regex_match(line, named, row) && source_text(named[1].str()).find("\nTEST") != std::string::npos;
    if (!is_right) wrong.push_back(line);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace troupe::testing
