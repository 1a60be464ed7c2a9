// Goal: the benchmarks with worker processes run, give figures for every case, and leave no process behind.
// Method: the programs themselves, in their quick modes; this process becomes the parent of whatever they would leave.
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

class worker_bench : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override { std::filesystem::remove(json_file_); }

  nlohmann::json run(const char* program) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      // The benchmark needs the data of the source tree.
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      ::execl(program, program, "--quick", "--json", json_file_.c_str(), nullptr);
      ::_exit(127);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "processes were left behind";
    std::ifstream in(json_file_);
    return nlohmann::json::parse(in, nullptr, false);
  }

  const std::string json_file_ = ::testing::TempDir() + "worker_bench_" + std::to_string(::getpid()) + ".json";
};

TEST_F(worker_bench, times_recoveries_with_a_spare_and_without) {
  const auto json = run(RECOVERY_BENCH);
  ASSERT_EQ(json.at("rows").size(), 2);
  EXPECT_EQ(json["rows"][0].at("spare"), "warm");
  EXPECT_EQ(json["rows"][1].at("spare"), "none");
  for (const auto& row : json["rows"]) {
    ASSERT_EQ(row.at("each").size(), 2);
    for (const auto& kill : row["each"]) {
      EXPECT_GT(kill.at("noticed"), 0) << kill;
      EXPECT_GT(kill.at("assigned"), 0) << kill;
      EXPECT_GE(kill.at("made"), kill.at("assigned")) << kill;
      EXPECT_GE(kill.at("warmed"), kill.at("made")) << kill;
      EXPECT_GE(kill.at("fed"), kill.at("warmed")) << kill;
      EXPECT_GT(kill.at("resumed"), kill.at("fed")) << kill;
    }
  }
}

TEST_F(worker_bench, compares_processes_with_one) {
  const auto json = run(PROCESS_BENCH);
  ASSERT_EQ(json.at("rows").size(), 1);
  const auto& row = json["rows"][0];
  EXPECT_TRUE(row.at("results_equal")) << row.at("different");
  for (const char* group : {"efficiency", "layout", "cost"}) {
    for (const auto& [name, one] : row.at("comparisons").at(group).items()) {
      EXPECT_EQ(one.at("us").size(), 1) << name;
      EXPECT_GT(one.at("ratio").at("min"), 0) << name;
    }
  }
}

}  // namespace
}  // namespace troupe::testing
