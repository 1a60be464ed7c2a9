// Goal: processes stop and go on by a process outside them, which is gone then. Method: a child of this test.
#include "runtime/agent/freeze_node.hpp"

#include <csignal>
#include <future>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(freeze_node, stops_and_goes_on) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  auto frozen = std::async(std::launch::async, [child] { return freeze_processes({child}, 10ms); });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  ASSERT_EQ(::waitpid(child, &status, WCONTINUED), child);
  EXPECT_TRUE(WIFCONTINUED(status));
  EXPECT_TRUE(frozen.get());
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(::waitpid(-1, &status, WNOHANG), -1) << "a process is left";
}

TEST(freeze_node, leaves_alone_what_has_ended) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(freeze_processes({child}, 1ms));
}

}  // namespace
}  // namespace troupe
