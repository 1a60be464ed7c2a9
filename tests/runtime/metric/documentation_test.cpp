// Goal: docs/metrics.md has every metric of the table, with its line of help, and no other. Method: the rows of the
// document are counted and compared with the table; the same for docs/data.md and the kinds of data.
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/data/data_kinds.hpp"
#include "runtime/metric/metric_table.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

/// The lines of the first table behind `heading`, without its two head lines.
std::vector<std::string> rows_behind(const std::string& file, const std::string& heading) {
  std::ifstream document(testing::source_dir() / file);
  std::vector<std::string> rows;
  bool is_there = false;
  std::string line;
  while (std::getline(document, line)) {
    if (line.starts_with(heading)) is_there = true;
    if (!is_there) continue;
    if (line.starts_with("|")) rows.push_back(line);
    if (!line.starts_with("|") && !rows.empty()) break;
  }
  if (rows.size() > 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

TEST(documentation, has_a_row_for_every_metric) {
  const auto rows = rows_behind("docs/metrics.md", "# Metrics");
  ASSERT_EQ(rows.size(), metric_kinds.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name(metric_kinds[i].name);
    const std::string help(metric_kinds[i].help);
    EXPECT_TRUE(rows[i].starts_with("| `" + name + "` | " + help + " |")) << rows[i];
  }
}

TEST(documentation, has_a_row_for_every_option_of_a_metric) {
  const auto rows = rows_behind("docs/metrics.md", "## Options");
  ASSERT_EQ(rows.size(), metric_settings_known.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const metric_setting& each = metric_settings_known[i];
    std::string form;
    for (const char c : each.value_form) form += c == '|' ? std::string("\\|") : std::string(1, c);
    EXPECT_TRUE(rows[i].starts_with("| `" + std::string(each.name) + "` | `" + form + "` | " + std::string(each.help)))
        << rows[i];
  }
}

TEST(documentation, has_a_row_for_every_kind_of_data) {
  const auto rows = rows_behind("docs/data.md", "# Data");
  ASSERT_EQ(rows.size(), data_kinds.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string form = std::string(data_kinds[i].name) + ":" + std::string(data_kinds[i].path);
    EXPECT_TRUE(rows[i].starts_with("| `" + form + "` | " + std::string(data_kinds[i].help) + " |")) << rows[i];
  }
}

}  // namespace
}  // namespace troupe
