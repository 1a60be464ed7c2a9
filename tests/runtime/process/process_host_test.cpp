// Goal: a process host knows how each worker ended, and leaves none behind.
#include "runtime/process/process_host.hpp"

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

exit_report report_of(std::vector<std::string> arguments) {
  const auto host = new_host();
  return run_probe(*host, probe(std::move(arguments)))->await_exit();
}

TEST(process_host, tells_an_exit_status) {
  const exit_report report = report_of({"exit", "3"});
  EXPECT_EQ(report.kind, exit_kind::exited);
  EXPECT_EQ(report.value, 3);
  EXPECT_EQ(report.name, "stage 1/replica 0");
  EXPECT_GT(report.pid, 1);
  EXPECT_GT(report.max_resident_bytes, 0u);
  EXPECT_EQ(report.describe(), "exited with status 3");
}

TEST(process_host, names_the_signal_that_killed) {
  const std::vector<std::pair<int, std::string>> signals = {
      {SIGKILL, "killed by SIGKILL"},
      {SIGSEGV, "killed by SIGSEGV"},
      {SIGTERM, "killed by SIGTERM"},
      {SIGABRT, "killed by SIGABRT"},
      {SIGRTMIN + 1, "killed by signal " + std::to_string(SIGRTMIN + 1)}};
  for (const auto& [number, text] : signals) {
    const exit_report report = report_of({"die-of", std::to_string(number)});
    EXPECT_EQ(report.kind, exit_kind::signalled);
    EXPECT_EQ(report.value, number);
    EXPECT_THAT(report.describe(), HasSubstr(text));
  }
}

/// What a process inherits of its parent, or sets itself, before the host is made.
class with_sigchld {
 public:
  explicit with_sigchld(int flags, void (*handler)(int)) {
    struct sigaction wanted {};
    wanted.sa_handler = handler;
    wanted.sa_flags = flags;
    ::sigaction(SIGCHLD, &wanted, &before_);
  }
  with_sigchld(const with_sigchld&) = delete;
  with_sigchld& operator=(const with_sigchld&) = delete;
  ~with_sigchld() { ::sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

TEST(process_host, knows_how_a_worker_ended_though_sigchld_was_ignored) {
  for (const auto& [flags, handler] : {std::pair(0, SIG_IGN), std::pair(SA_NOCLDWAIT, SIG_DFL)}) {
    const with_sigchld ignored(flags, handler);
    const exit_report report = report_of({"exit", "3"});
    EXPECT_EQ(report.kind, exit_kind::exited) << report.describe();
    EXPECT_EQ(report.value, 3);
  }
}

TEST(process_host, leaves_a_handler_of_the_program_where_it_is) {
  const with_sigchld handled(SA_RESTART, [](int) {});
  const auto host = new_host();
  struct sigaction now {};
  ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &now), 0);
  EXPECT_NE(now.sa_handler, SIG_DFL);
  EXPECT_NE(now.sa_handler, SIG_IGN);
  EXPECT_NE(now.sa_flags & SA_RESTART, 0);
}

TEST(process_host, says_why_a_program_cannot_be_executed) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  for (const auto& [program, reason] :
       {std::pair("/no/such/program", "No such file"), std::pair("/tmp", "Permission")}) {
    spawn_request request = probe({});
    request.program = program;
    const auto started = host->start(std::move(request), listener);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, error_code::process_failed);
    EXPECT_EQ(started.error().where, "stage 1/replica 0");
    EXPECT_THAT(started.error().cause, HasSubstr(program));
    EXPECT_THAT(started.error().cause, HasSubstr(reason));
  }
  EXPECT_FALSE(listener->has_ended());
  EXPECT_FALSE(has_children());
}

TEST(process_host, refuses_bad_requests) {
  const auto host = new_host();
  const auto is_refused = [&](spawn_request request) {
    return !host->start(std::move(request), std::make_shared<probe_listener>());
  };
  spawn_request bad = probe({});
  bad.environment = {{"A=B", "C"}};
  EXPECT_TRUE(is_refused(std::move(bad)));
  bad = probe({std::string("a\0b", 3)});
  EXPECT_TRUE(is_refused(std::move(bad)));
  for (const int number : {-1, 0, 2, limits::worker_inherited_fd_max + 1}) {
    bad = probe({});
    bad.fds.push_back({unique_fd(::dup(0)), number});
    EXPECT_TRUE(is_refused(std::move(bad)));
  }
  bad = probe({});
  bad.fds.push_back({unique_fd(), 5});
  EXPECT_TRUE(is_refused(std::move(bad)));
}

TEST(process_host, a_start_whose_deadline_has_passed_leaves_nothing) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  const auto started = host->start(probe({"wait"}), listener, steady_clock::now() - 1s);
  EXPECT_FALSE(started);
  EXPECT_TRUE(host->stop(in_time()));
  EXPECT_FALSE(listener->has_ended());
  EXPECT_FALSE(has_children());
}

TEST(process_host, kills_the_named_worker_only) {
  const auto host = new_host();
  const auto first = std::make_shared<probe_listener>();
  const auto second = std::make_shared<probe_listener>();
  const auto first_id = host->start(probe({"wait"}), first);
  const auto second_id = host->start(probe({"wait"}), second);
  ASSERT_TRUE(first_id && second_id);
  EXPECT_EQ(host->running(), 2u);
  EXPECT_TRUE(host->kill(*first_id, SIGKILL));
  const exit_report report = first->await_exit();
  EXPECT_EQ(report.worker, *first_id);
  EXPECT_EQ(report.describe(), "killed by SIGKILL");
  EXPECT_FALSE(second->has_ended());
  // A stopped process is killed as well.
  EXPECT_TRUE(host->kill(*second_id, SIGSTOP));
  EXPECT_TRUE(host->kill(*second_id, SIGKILL));
  second->await_exit();
  EXPECT_TRUE(host->stop(in_time()));
  EXPECT_FALSE(host->kill(*first_id, SIGKILL));
  EXPECT_EQ(host->running(), 0u);
}

bool is_zombie(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(") Z ") != std::string::npos;
}

/// The kernel keeps a traced process for its tracer: the pidfd says that it ended, and waitid() has nothing yet.
TEST(process_host, reaps_a_worker_that_a_debugger_holds_beyond_its_death) {
  const auto host = new_host();
  const auto held = std::make_shared<probe_listener>();
  const auto debugger = std::make_shared<probe_listener>();
  const auto held_id = host->start(probe({"wait"}), held);
  ASSERT_TRUE(held_id);
  const pid_t pid = host->pid_of(*held_id).value();
  const auto debugger_id = host->start(probe({"trace", std::to_string(pid)}), debugger);
  ASSERT_TRUE(debugger_id && debugger->await_lines(1));
  if (debugger->out().front() != "traces") GTEST_SKIP() << "this system lets no process trace another";
  EXPECT_TRUE(host->kill(*held_id, SIGKILL));
  for (const auto until = in_time(); !is_zombie(pid) && steady_clock::now() < until;) std::this_thread::yield();
  // The host has looked at its processes between two starts.
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(host->start(probe({"wait"}), std::make_shared<probe_listener>()));
  EXPECT_FALSE(held->has_ended());
  EXPECT_TRUE(host->kill(*debugger_id, SIGKILL));
  EXPECT_EQ(held->await_exit().describe(), "killed by SIGKILL");
  EXPECT_TRUE(host->stop(in_time()));
  EXPECT_FALSE(has_children());
}

/// Its tracer never lets it go, and a run waits for the end of the worker.
TEST(process_host, tells_the_end_of_a_worker_that_a_debugger_holds_for_ever) {
  const auto host = new_host();
  const auto held = std::make_shared<probe_listener>();
  const auto debugger = std::make_shared<probe_listener>();
  const auto held_id = host->start(probe({"wait"}), held);
  ASSERT_TRUE(held_id);
  ASSERT_TRUE(host->start(probe({"trace", std::to_string(host->pid_of(*held_id).value())}), debugger));
  ASSERT_TRUE(debugger->await_lines(1));
  if (debugger->out().front() != "traces") GTEST_SKIP() << "this system lets no process trace another";
  EXPECT_TRUE(host->kill(*held_id, SIGKILL));
  const pid_t pid = held->await_exit().pid;
  EXPECT_TRUE(host->stop(in_time()));
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid) << "it is left to its tracer";
}

TEST(process_host, stop_asks_first) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  ASSERT_TRUE(host->start(probe({"wait"}), listener));
  EXPECT_TRUE(host->stop(in_time(), patience));
  EXPECT_EQ(listener->await_exit().value, SIGTERM);
  EXPECT_FALSE(host->start(probe({"wait"}), listener));
  EXPECT_TRUE(host->stop(in_time()));
}

TEST(process_host, stop_kills_who_ignores_it) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  ASSERT_TRUE(host->start(probe({"ignore-term"}), listener));
  ASSERT_TRUE(listener->await_lines(1));
  EXPECT_TRUE(host->stop(in_time(), 50ms));
  EXPECT_EQ(listener->await_exit().value, SIGKILL);
  EXPECT_FALSE(has_children());
}

TEST(process_host, stop_with_a_deadline_that_has_passed_kills_at_once) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  ASSERT_TRUE(host->start(probe({"ignore-term"}), listener));
  static_cast<void>(host->stop(steady_clock::now()));
  EXPECT_EQ(listener->await_exit().value, SIGKILL);
}

TEST(process_host, its_end_leaves_no_child_and_tells_all_listeners) {
  std::vector<std::shared_ptr<probe_listener>> listeners;
  {
    const auto host = new_host();
    for (int i = 0; i < 4; ++i) {
      listeners.push_back(std::make_shared<probe_listener>());
      ASSERT_TRUE(host->start(probe({"ignore-term"}), listeners.back()));
    }
  }
  for (const auto& listener : listeners) EXPECT_TRUE(listener->has_ended());
  EXPECT_FALSE(has_children());
}

/// A descriptor that is readable when the process has ended; in a test's life no pid comes round again.
unique_fd pidfd_of(pid_t pid) {
  return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

TEST(process_host, death_of_the_driver_ends_its_workers) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  const auto driver = host->start(probe({"driver", "3"}), listener);
  ASSERT_TRUE(driver);
  ASSERT_TRUE(listener->await_lines(3));
  std::vector<unique_fd> workers;
  for (const std::string& line : listener->out()) {
    ASSERT_EQ(line.substr(0, 4), "pid ");
    workers.push_back(pidfd_of(std::stoi(line.substr(4))));
    ASSERT_TRUE(workers.back());
    pollfd alive{workers.back().get(), POLLIN, 0};
    ASSERT_EQ(::poll(&alive, 1, 0), 0);
  }
  ASSERT_TRUE(host->kill(*driver, SIGKILL));
  for (const unique_fd& worker : workers) {
    pollfd ended{worker.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 20'000), 1);
  }
}

}  // namespace
}  // namespace troupe::testing
