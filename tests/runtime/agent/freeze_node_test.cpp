// Goal: processes stop and go on by a process outside them, which is gone then. Method: a child of this test.
#include "runtime/agent/freeze_node.hpp"

#include <array>
#include <chrono>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Once more where the child did not run meanwhile: it then never notices so short a stop.
bool stops_and_goes_on(pid_t child) {
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < limit) {
    if (!freeze_processes({child}, 10ms)) return false;
    int status = 0;
    // a stop that is over says no more but that it goes on
    if (::waitpid(child, &status, WUNTRACED | WCONTINUED | WNOHANG) == child) return WIFCONTINUED(status);
  }
  return false;
}

TEST(freeze_node, stops_and_goes_on) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  EXPECT_TRUE(stops_and_goes_on(child));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(::waitpid(-1, &status, WNOHANG), -1) << "a process is left";
}

/// As one that got the number of a worker that has ended.
TEST(freeze_node, leaves_alone_what_is_no_child) {
  std::array<int, 2> up{};
  std::array<int, 2> down{};
  ASSERT_EQ(::pipe(up.data()) | ::pipe(down.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t other = ::fork();
    if (other == 0) {
      for (;;) ::pause();
    }
    char word = 0;
    bool is_well = ::write(up[1], &other, sizeof other) == sizeof other && ::read(down[0], &word, 1) == 1;
    int status = 0;
    is_well = is_well && ::waitpid(other, &status, WUNTRACED | WCONTINUED | WNOHANG) == 0;
    ::kill(other, SIGKILL);
    ::_exit(is_well ? 0 : 1);
  }
  pid_t other = 0;
  ASSERT_EQ(::read(up[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
  EXPECT_TRUE(freeze_processes({other}, 1ms));
  ASSERT_EQ(::write(down[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it was stopped";
  for (const int each : {up[0], up[1], down[0], down[1]}) ::close(each);
}

TEST(freeze_node, leaves_alone_what_has_ended) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(freeze_processes({child}, 1ms));
}

}  // namespace
}  // namespace troupe
