// Goal: what each worker prints is in a file of its rank, and warnings are told elsewhere as well.
#include "runtime/log/rank_logs.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct rank_log_folder {
  const std::string path = std::filesystem::temp_directory_path() / ("troupe-rank-logs-" + std::to_string(::getpid()));
  rank_log_folder() { std::filesystem::remove_all(path); }
  ~rank_log_folder() { std::filesystem::remove_all(path); }

  [[nodiscard]] std::string text_of(const std::string& file) const {
    std::ifstream in(path + "/" + file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
};

TEST(rank_logs, each_rank_has_its_file) {
  const rank_log_folder folder;
  const auto logs = rank_logs::open(folder.path + "/of/run");
  ASSERT_TRUE(logs) << to_string(logs.error());
  EXPECT_TRUE((*logs)->take({.level = log_level::info, .text = "hello of three", .rank = 3}));
  EXPECT_TRUE((*logs)->take({.level = log_level::info, .text = "hello of twelve", .rank = 12}));
  EXPECT_FALSE((*logs)->take({.level = log_level::warning, .text = "three is late", .rank = 3}))
      << "told elsewhere, too";
  EXPECT_FALSE((*logs)->take({.level = log_level::info, .text = "of the driver"}));
  const std::string three = folder.text_of("of/run/rank-3.log");
  EXPECT_THAT(three, HasSubstr("hello of three"));
  EXPECT_THAT(three, HasSubstr("three is late"));
  EXPECT_THAT(three, Not(HasSubstr("twelve")));
  EXPECT_THAT(folder.text_of("of/run/rank-12.log"), HasSubstr("hello of twelve"));
}

TEST(rank_logs, a_directory_that_cannot_be_is_an_error) {
  const auto logs = rank_logs::open("/proc/nothing/here");
  ASSERT_FALSE(logs);
  EXPECT_EQ(logs.error().code, error_code::output_unwritable);
}

}  // namespace
}  // namespace troupe::testing
