// Goal: a signal that comes when the result is out does not kill the program. Method: the command line's own handling
// in a child process, which sends itself SIGINT and SIGTERM after the evaluation was detached, and waits for each to be
// taken before the next.
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "cli/eval_interrupt.hpp"

namespace troupe::cli {
namespace {

constexpr int orderly = 7;
constexpr unsigned deadline_seconds = 30;

bool is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

void send_to_self_and_await(int signal) {
  ::kill(::getpid(), signal);
  while (is_pending(signal)) ::sched_yield();
}

eval_interrupt& detached() {
  ::alarm(deadline_seconds);
  const auto made = eval_interrupt::start();
  if (!made) std::_Exit(EXIT_FAILURE);
  (*made)->detach();
  return **made;
}

TEST(a_late_signal, changes_nothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          detached();
          send_to_self_and_await(signal);
          send_to_self_and_await(signal);
          std::exit(orderly);
        },
        ::testing::ExitedWithCode(orderly), "^$");
  }
}

/// Also then something may hang.
TEST(a_late_signal, ends_the_program_the_third_time) {
  EXPECT_EXIT(
      {
        detached();
        for (int times = 0; times < 3; ++times) send_to_self_and_await(SIGTERM);
        for (;;) ::pause();
      },
      ::testing::ExitedWithCode(130), "ending at once");
}

}  // namespace
}  // namespace troupe::cli
