// Goal: what each worker prints is in a file of its rank, and warnings are told elsewhere as well.
#include "runtime/log/rank_logs.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <sys/stat.h>
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

void unheard(const log_record& record) {
  ADD_FAILURE() << to_string(record);
}

TEST(rank_logs, each_rank_has_its_file) {
  const rank_log_folder folder;
  const auto logs = rank_logs::open(folder.path + "/of/run");
  ASSERT_TRUE(logs) << to_string(logs.error());
  EXPECT_TRUE((*logs)->take({.level = log_level::info, .text = "hello of three", .rank = 3}, unheard));
  EXPECT_TRUE((*logs)->take({.level = log_level::info, .text = "hello of twelve", .rank = 12}, unheard));
  EXPECT_FALSE((*logs)->take({.level = log_level::warning, .text = "three is late", .rank = 3}, unheard))
      << "told elsewhere, too";
  EXPECT_FALSE((*logs)->take({.level = log_level::info, .text = "of the driver"}, unheard));
  const std::string three = folder.text_of("of/run/rank-3.log");
  EXPECT_THAT(three, HasSubstr("hello of three"));
  EXPECT_THAT(three, HasSubstr("three is late"));
  EXPECT_THAT(three, Not(HasSubstr("twelve")));
  EXPECT_THAT(folder.text_of("of/run/rank-12.log"), HasSubstr("hello of twelve"));
}

/// Another user of the directory knows the names.
TEST(rank_logs, nothing_is_written_through_what_another_has_put_there) {
  const rank_log_folder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.path);
  const std::string precious = folder.path + "/precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, folder.path + "/rank-0.log");
  fs::create_symlink(folder.path + "/not there", folder.path + "/rank-1.log");
  fs::create_hard_link(precious, folder.path + "/rank-2.log");
  ASSERT_EQ(::mkfifo((folder.path + "/rank-3.log").c_str(), 0600), 0);
  fs::create_directory(folder.path + "/rank-4.log");
  const auto logs = rank_logs::open(folder.path);
  ASSERT_TRUE(logs) << to_string(logs.error());
  constexpr std::array reasons = {"symbolic link", "symbolic link", "hard link", "FIFO", "directory"};
  for (std::uint32_t rank = 0; rank < reasons.size(); ++rank) {
    std::vector<std::string> told;
    for (int twice = 0; twice < 2; ++twice) {
      EXPECT_FALSE((*logs)->take({.text = "a line of a worker", .rank = rank}, [&](const log_record& record) {
        told.push_back(to_string(record));
      })) << "it is told elsewhere";
    }
    ASSERT_EQ(told.size(), 1U) << "once";
    EXPECT_THAT(told.front(), HasSubstr("E0611"));
    EXPECT_THAT(told.front(), HasSubstr("rank-" + std::to_string(rank) + ".log"));
    if (rank != 3 && rank != 4) {
      EXPECT_THAT(told.front(), HasSubstr(reasons.at(rank)));
    }
  }
  EXPECT_EQ(folder.text_of("precious"), "precious");
  EXPECT_FALSE(fs::exists(folder.path + "/not there"));
}

TEST(rank_logs, a_later_run_appends_to_its_own) {
  const rank_log_folder folder;
  for (const std::string line : {"first", "second"}) {
    const auto logs = rank_logs::open(folder.path);
    ASSERT_TRUE(logs) << to_string(logs.error());
    EXPECT_TRUE((*logs)->take({.text = line, .rank = 0}, unheard));
  }
  EXPECT_THAT(folder.text_of("rank-0.log"), ::testing::AllOf(HasSubstr("] first\n"), HasSubstr("] second\n")));
}

TEST(rank_logs, a_directory_that_cannot_be_is_an_error) {
  const auto logs = rank_logs::open("/proc/nothing/here");
  ASSERT_FALSE(logs);
  EXPECT_EQ(logs.error().code, error_code::output_unwritable);
}

}  // namespace
}  // namespace troupe::testing
