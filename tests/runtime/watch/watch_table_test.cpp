// Goal: a table keeps its rows through kills, is of one kind, and refuses files that are something else. Method: files
// cut at each byte, changed, and hostile.
#include "runtime/watch/watch_table.hpp"

#include <gmock/gmock.h>

#include "watched_folder.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using json = nlohmann::ordered_json;

class table : public watched_folder {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "state" / "table.jsonl"; }
  [[nodiscard]] auto open(const json& options = {{"data", "a"}}) const { return watch_table::open(file(), options); }
  [[nodiscard]] std::string text() const {
    std::ifstream from(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
  }
  void fill() const {
    auto made = open();
    ASSERT_TRUE(made) << to_string(made.error());
    ASSERT_TRUE((*made)->append({.step = 1, .checkpoint = "step-1", .stamp = ~0ULL, .metrics = accuracy(0.1)}));
    ASSERT_TRUE((*made)->append(
        {.step = 2, .checkpoint = "step-2", .stamp = 7, .problem = error{error_code::model_damaged, "w", "c", "f"}}));
  }
};

TEST_F(table, keeps_rows) {
  fill();
  const auto made = open();
  ASSERT_TRUE(made) << to_string(made.error());
  ASSERT_EQ((*made)->rows().size(), 2U);
  EXPECT_EQ((*made)->rows()[0].metrics.dump(), accuracy(0.1).dump());
  EXPECT_EQ((*made)->rows()[0].stamp, ~0ULL);
  EXPECT_EQ((*made)->rows()[1].problem->cause, "c");
  EXPECT_TRUE((*made)->has("step-1"));
  EXPECT_FALSE((*made)->has("step-2"));
  EXPECT_TRUE((*made)->has_failed("step-2", 7));
  EXPECT_FALSE((*made)->has_failed("step-2", 8));
}

TEST_F(table, cut_anywhere_goes_on_behind_its_whole_lines) {
  fill();
  const std::string whole = text();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(file(), std::ios::binary) << whole.substr(0, size);
    {
      auto made = open();
      ASSERT_TRUE(made) << size << to_string(made.error());
      const auto lines = std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size), '\n');
      EXPECT_EQ((*made)->rows().size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(lines - 1, 0)));
      ASSERT_TRUE((*made)->append({.step = 3, .checkpoint = "step-3", .metrics = accuracy(0.3)}));
    }
    const auto again = open();
    ASSERT_TRUE(again) << size;
    EXPECT_TRUE((*again)->has("step-3")) << size;
  }
}

TEST_F(table, is_of_one_kind) {
  fill();
  const auto other = open({{"data", "b"}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, error_code::flags_contradict);
  EXPECT_THAT(to_string(other.error()), AllOf(HasSubstr("data"), HasSubstr("begun with \"a\"")));
}

TEST_F(table, is_open_once) {
  const auto first = open();
  ASSERT_TRUE(first);
  EXPECT_THAT(to_string(open().error()), HasSubstr("another program has it open"));
}

TEST_F(table, refuses_other_files) {
  fill();
  const std::string whole = text();
  const std::string header = whole.substr(0, whole.find('\n') + 1);
  const std::vector<std::string> bad = {
      "hello\n",
      "{}\n",
      "{\"schema_version\":2,\"options\":{}}\n",
      "{\"schema_version\":1,\"options\":[]}\n",
      "{\"schema_version\":\"1\",\"options\":{}}\n",
      header + "\n",
      header + "{}\n",
      header + std::string(100'000, '[') + "\n",
      header + R"({"step":-1,"checkpoint":"a","stamp":"0","seconds":0,"metrics":{}})" + "\n",
      header + R"({"step":1,"checkpoint":2,"stamp":"0","seconds":0,"metrics":{}})" + "\n",
      header + R"({"step":1,"checkpoint":"a","stamp":"x","seconds":0,"metrics":{}})" + "\n",
      header + R"({"step":1,"checkpoint":"a","stamp":"0","seconds":0,"metrics":[1]})" + "\n",
      header + R"({"step":1,"checkpoint":"a","stamp":"0","seconds":0,"metrics":{"accuracy":1}})" + "\n",
      header + R"({"step":1,"checkpoint":"a","stamp":"0","seconds":0,"error":3})" + "\n",
      std::string(100, '\0') + "\n",
      "\xff\xfe\n"};
  for (const std::string& each : bad) {
    std::ofstream(file(), std::ios::binary) << each;
    const auto made = open();
    ASSERT_FALSE(made) << each.substr(0, 200);
    EXPECT_EQ(made.error().code, error_code::output_unwritable) << each.substr(0, 200);
    EXPECT_EQ(text(), each);
  }
}

}  // namespace
}  // namespace troupe::testing
