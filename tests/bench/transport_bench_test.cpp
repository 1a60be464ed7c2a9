// Goal: transport_bench measures every transport, notices a dead peer, and leaves no process behind, however it ends.
// Method: the program itself; this process becomes the parent of whatever it would leave behind.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr std::chrono::seconds end_limit{60};

template <class Condition>
bool eventually(Condition condition) {
  const auto limit = clock_type::now() + end_limit;
  while (!condition()) {
    if (clock_type::now() > limit) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// The pids of a process's children, as the kernel lists them.
std::set<pid_t> children_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  std::set<pid_t> pids;
  for (pid_t child = 0; in >> child;) pids.insert(child);
  return pids;
}

class transport_bench : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override {
    if (pid_ > 0 && status_ == -1) ::kill(pid_, SIGKILL);
    EXPECT_TRUE(eventually([] { return ::waitpid(-1, nullptr, WNOHANG) == -1; })) << "processes were left behind";
    std::filesystem::remove(json_file_);
  }
  void start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRANSPORT_BENCH);
    arguments.insert(arguments.end(), {"--json", json_file_});
    std::vector<char*> given;
    for (std::string& one : arguments) given.push_back(one.data());
    given.push_back(nullptr);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      ::execv(TRANSPORT_BENCH, given.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    said_.reset(ends[0]);
  }
  /// Whether it has said this on standard error, after waiting for it.
  bool says(const std::string& what) {
    std::array<char, 256> some{};
    while (text_.find(what) == std::string::npos) {
      pollfd ready{said_.get(), POLLIN, 0};
      if (::poll(&ready, 1, end_limit / 1ms) <= 0) return false;
      const ssize_t got = ::read(said_.get(), some.data(), some.size());
      if (got <= 0) return false;
      text_.append(some.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  /// What waitpid() says of its end; -1 if there was none in time.
  int ended() {
    (void)eventually([&] { return ::waitpid(pid_, &status_, WNOHANG) == pid_; });
    return status_;
  }
  /// When the first round has begun.
  pid_t peer() {
    EXPECT_TRUE(says("round 0")) << text_;
    const auto children = children_of(pid_);
    return children.empty() ? -1 : *children.begin();
  }

  const std::string json_file_ = ::testing::TempDir() + "transport_bench_" + std::to_string(::getpid()) + ".json";
  pid_t pid_ = -1;
  int status_ = -1;
  unique_fd said_;
  std::string text_;
};

TEST_F(transport_bench, measures_every_transport) {
  start({"--quick"});
  ASSERT_EQ(ended(), 0);
  std::ifstream in(json_file_);
  const auto json = nlohmann::json::parse(in);
  std::set<std::string> transports;
  for (const auto& row : json.at("rows")) {
    transports.insert(row.at("transport"));
    EXPECT_GT(row.at("hop_p50_us").at("min"), 0) << row;
    EXPECT_GE(row.at("hop_p99_us").at("max"), row.at("hop_p50_us").at("min")) << row;
    EXPECT_GT(row.at("gb_per_s").at("min"), 0) << row;
    EXPECT_GT(row.at("hop_over_unix_socket").at("median"), 0) << row;
    EXPECT_GT(row.at("bandwidth_over_memcpy").at("median"), 0) << row;
  }
  EXPECT_THAT(transports, ::testing::IsSupersetOf({"memcpy", "inproc", "shm", "tcp", "tcp-no-crc", "tls", "tls-no-crc",
                                                   "unix-socket", "tcp-socket"}));
}

TEST_F(transport_bench, ends_with_its_peer_after_ctrl_c) {
  start({});
  ASSERT_GT(peer(), 0);
  ASSERT_EQ(::kill(pid_, SIGINT), 0);
  const int status = ended();
  EXPECT_TRUE(WIFSIGNALED(status));
}

class dead_peer : public transport_bench, public ::testing::WithParamInterface<const char*> {};

TEST_P(dead_peer, is_noticed) {
  start({"--only", GetParam(), "--rounds", "1000"});
  const pid_t killed = peer();
  ASSERT_GT(killed, 0);
  ASSERT_EQ(::kill(killed, SIGKILL), 0);
  const int status = ended();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(says("transport_bench: ")) << text_;
}

std::string test_name(const ::testing::TestParamInfo<const char*>& of) {
  std::string name = of.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(on, dead_peer, ::testing::Values("shm", "tcp", "tls", "unix-socket", "tcp-socket"), test_name);
#ifdef TROUPE_BENCH_GLOO
INSTANTIATE_TEST_SUITE_P(on_gloo, dead_peer, ::testing::Values("gloo"), test_name);
#endif

}  // namespace
}  // namespace troupe::testing
