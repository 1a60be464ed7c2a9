// Goal: a signal that comes when the result is out does not kill the program, and the two that GNU timeout sends count
// as one. Method: the command line's own handling in a child process, which sends itself SIGINT, SIGTERM and SIGHUP
// after the evaluation was detached, and waits for each to be taken before the next; a child process that sends to this
// one.
#include "cli/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
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

/// As under nohup.
TEST(a_signal_that_is_ignored, stays_ignored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        ::alarm(deadline_seconds);
        if (!eval_interrupt::start()) std::_Exit(EXIT_FAILURE);
        ::kill(::getpid(), SIGHUP);
        std::exit(is_pending(SIGHUP) ? EXIT_FAILURE : orderly);
      },
      ::testing::ExitedWithCode(orderly), "^$");
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

/// A process that sends SIGTERM to this one when it is told to.
class sender {
 public:
  sender() : target_(::getpid()) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    child_ = ::fork();
    if (child_ == 0) obey();
    ::close(ends_[1]);
  }
  sender(const sender&) = delete;
  sender& operator=(const sender&) = delete;
  ~sender() {
    ::close(ends_[0]);
    EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
  }

  void send_and_await() {
    char word = 's';
    EXPECT_EQ(::write(ends_[0], &word, 1), 1);
    EXPECT_EQ(::read(ends_[0], &word, 1), 1) << "the signal was sent";
    while (is_pending(SIGTERM)) ::sched_yield();
  }

 private:
  [[noreturn]] void obey() {
    ::close(ends_[0]);
    for (char word = 0; ::read(ends_[1], &word, 1) == 1;) {
      ::kill(target_, SIGTERM);
      if (::write(ends_[1], &word, 1) != 1) break;
    }
    std::_Exit(EXIT_SUCCESS);
  }

  const pid_t target_;
  pid_t child_ = -1;
  int ends_[2] = {-1, -1};
};

/// The second signal is sent when the first was taken.
int interrupts_of_a_pair() {
  std::atomic<int> counted = 0;
  auto watch = interrupt_watch::start([&](int times) { counted = times; });
  EXPECT_TRUE(watch);
  sender other;
  other.send_and_await();
  other.send_and_await();
  send_to_self_and_await(SIGINT);  // always counted, and behind what was taken before
  watch->reset();
  return counted - 1;
}

TEST(two_signals, of_one_process_at_once_are_one_interrupt) {
  bool is_one = false;
  for (int attempt = 0; attempt < 100 && !is_one; ++attempt) is_one = interrupts_of_a_pair() == 1;
  EXPECT_TRUE(is_one) << "a slow machine may make them two, but not 100 times";
}

}  // namespace
}  // namespace troupe::cli
