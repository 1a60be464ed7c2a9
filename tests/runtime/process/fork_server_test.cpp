// Goal: a copy of a fork server is the worker that exec would have made, and exec makes it where a copy cannot be.
#include "runtime/process/fork_server.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr const char* copied = "argument of the fork server";

/// Its copies have an argument that no request names.
std::shared_ptr<fork_server> fork_server_of(std::vector<std::string> arguments,
                                            std::chrono::milliseconds silence = fork_server_patience) {
  arguments.emplace_back("of the fork server");
  spawn_request program = probe(std::move(arguments));
  program.environment = {{"OMP_TEST", "1"}};
  return fork_server::start(std::move(program), silence);
}

spawn_request request_to(const std::shared_ptr<fork_server>& from, std::vector<std::string> arguments) {
  spawn_request made = probe(std::move(arguments));
  made.from = from;
  made.environment = {{"OMP_TEST", "1"}};
  return made;
}

std::vector<std::string> ends_of(const std::vector<std::string>& lines, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    if (line.starts_with(prefix)) found.push_back(line.substr(prefix.size()));
  }
  return found;
}

TEST(fork_server, copies_are_as_if_executed) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: all is executed";
#endif
  const auto from = fork_server_of({"report"});
  ASSERT_TRUE(from);
  const auto host = new_host();
  for (const char* rank : {"7", "8"}) {
    spawn_request request = request_to(from, {"report"});
    request.environment.insert(request.environment.end(), {{"RANK", rank}, {"TROUPE_TEST_ADDED", ""}});
    for (const int number : {3, 4, 60}) {
      request.fds.push_back({unique_fd(::open("/dev/full", O_RDONLY | O_CLOEXEC)), number});
    }
    const auto listener = run_probe(*host, std::move(request));
    const auto lines = listener->out();
    EXPECT_EQ(listener->await_exit().describe(), "exited with status 0");
    EXPECT_THAT(lines, Contains(copied));
    EXPECT_THAT(lines, Contains("environment RANK=" + std::string(rank)));
    EXPECT_THAT(lines, Contains("environment TROUPE_TEST_ADDED="));
    EXPECT_THAT(ends_of(lines, "environment TROUPE_FORK_SERVER"), ::testing::IsEmpty());
    EXPECT_THAT(ends_of(lines, "fd "), UnorderedElementsAre("0 /dev/null", StartsWith("1 pipe:"), StartsWith("2 pipe:"),
                                                            "3 /dev/full", "4 /dev/full", "60 /dev/full"));
    EXPECT_EQ(ends_of(lines, "group "), ends_of(lines, "pid "));
    EXPECT_THAT(lines, Contains("pid " + std::to_string(listener->await_exit().pid)));
    EXPECT_THAT(lines, Contains("death signal " + std::to_string(SIGKILL)));
    EXPECT_THAT(ends_of(lines, "blocked "), ::testing::IsEmpty());
  }
}

TEST(fork_server, copies_are_watched_and_outlive_it) {
  const auto from = fork_server_of({"wait"});
  ASSERT_TRUE(from);
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  const auto started = host->start(request_to(from, {"wait"}), listener);
  ASSERT_TRUE(started) << to_string(started.error());
  ASSERT_TRUE(listener->await_lines(1));
  from->end();
  EXPECT_FALSE(listener->has_ended());
  EXPECT_TRUE(host->kill(*started, SIGUSR1));
  const exit_report ended = listener->await_exit();
  EXPECT_EQ(ended.kind, exit_kind::signalled);
  EXPECT_EQ(ended.value, SIGUSR1);
  // none any more
  EXPECT_EQ(run_probe(*host, request_to(from, {"exit", "5"}))->await_exit().describe(), "exited with status 5");
}

/// What became of a start that was not waited for.
struct later_start {
  std::promise<expected<worker_id>> promise;
  std::future<expected<worker_id>> future = promise.get_future();

  void begin(process_host& host, spawn_request request, const std::shared_ptr<probe_listener>& listener) {
    host.start_soon(std::move(request), listener,
                    [this](const expected<worker_id>& result) { promise.set_value(result); });
  }
  [[nodiscard]] bool is_there() const { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
};

/// A debugger, swap or a cgroup stops a fork server as well.
void freeze(const fork_server& frozen) {
  const auto pid = frozen.pid();
  ASSERT_TRUE(pid);
  ASSERT_EQ(::kill(*pid, SIGSTOP), 0);
  siginfo_t info{};  // seen as stopped, and not taken from its owner
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(*pid), &info, WSTOPPED | WNOWAIT | __WALL), 0);
}

TEST(fork_server, that_is_frozen_blinds_its_host_to_nothing) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: nothing is copied";
#endif
  const auto from = fork_server_of({"wait"}, std::chrono::hours(1));  // as long as the test wants
  ASSERT_TRUE(from);
  const auto host = new_host();
  std::vector<std::shared_ptr<probe_listener>> listeners;
  std::vector<worker_id> workers;
  for (int i = 0; i < 3; ++i) {
    listeners.push_back(std::make_shared<probe_listener>());
    const auto started = host->start(request_to(from, {"wait"}), listeners.back());
    ASSERT_TRUE(started) << to_string(started.error());
    workers.push_back(*started);
    ASSERT_TRUE(listeners.back()->await_lines(1));
  }
  freeze(*from);
  later_start later;
  const auto copy = std::make_shared<probe_listener>();
  const auto until = std::chrono::steady_clock::now() + std::chrono::hours(2);
  host->start_soon(
      request_to(from, {"wait"}), copy, [&](const expected<worker_id>& result) { later.promise.set_value(result); },
      until);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    EXPECT_TRUE(host->kill(workers[i], SIGKILL));
    EXPECT_EQ(listeners[i]->await_exit().describe(), "killed by SIGKILL");
    EXPECT_FALSE(later.is_there()) << "the deaths come first";
  }
  ASSERT_EQ(::kill(from->pid().value(), SIGCONT), 0);
  const auto started = later.future.get();
  ASSERT_TRUE(started) << to_string(started.error());
  EXPECT_TRUE(copy->await_lines(1));
}

TEST(fork_server, that_is_frozen_is_given_up_for_exec) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: nothing is copied";
#endif
  const auto from = fork_server_of({"report"}, std::chrono::milliseconds(10));
  ASSERT_TRUE(from);
  const auto host = new_host();
  EXPECT_THAT(run_probe(*host, request_to(from, {"report"}))->out(), Contains("argument report"));
  if (from->pid()) freeze(*from);
  const auto listener = run_probe(*host, request_to(from, {"report"}));
  EXPECT_THAT(listener->out(), Not(Contains(copied)));
  EXPECT_EQ(listener->await_exit().describe(), "exited with status 0");
}

TEST(fork_server, that_is_frozen_does_not_hold_up_the_end_of_its_host) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: nothing is copied";
#endif
  const auto from = fork_server_of({"wait"}, std::chrono::milliseconds(10));
  ASSERT_TRUE(from);
  auto host = new_host();
  freeze(*from);
  later_start later;
  const auto listener = std::make_shared<probe_listener>();
  later.begin(*host, request_to(from, {"wait"}), listener);
  EXPECT_TRUE(host->stop(in_time()));
  host.reset();
  EXPECT_TRUE(later.is_there());
  EXPECT_EQ(listener->has_ended(), later.future.get().has_value())
      << "told of a worker that was started, and of no other";
}

TEST(fork_server, variables_that_libraries_read_while_loaded_need_exec) {
  const auto from = fork_server_of({"report"});
  ASSERT_TRUE(from);
  const auto host = new_host();
  spawn_request request = request_to(from, {"report"});
  request.environment.emplace_back("OMP_NUM_THREADS", "3");
  const auto lines = run_probe(*host, std::move(request))->out();
  EXPECT_THAT(lines, Contains("environment OMP_NUM_THREADS=3"));
  EXPECT_THAT(lines, Not(Contains(copied)));
}

/// As for a program that changes something between the constructor of troupe::program and its run.
TEST(fork_server, what_changed_since_it_was_made_holds_for_workers) {
  ::setenv("OMP_TEST_GONE", "1", 1);
  const auto from = fork_server_of({"report"});
  ASSERT_TRUE(from);
  const auto host = new_host();
  const auto report = [&](std::string program = PROCESS_PROBE) {
    spawn_request request = request_to(from, {"report"});
    request.program = std::move(program);
    return run_probe(*host, std::move(request))->out();
  };
  EXPECT_THAT(report(), Contains(copied));

  ::unsetenv("OMP_TEST_GONE");
  EXPECT_THAT(report(), Not(Contains("environment OMP_TEST_GONE=1")));
  ::setenv("OMP_TEST_GONE", "1", 1);
  ::setenv("OMP_TEST_NEW", "1", 1);
  EXPECT_THAT(report(), Contains("environment OMP_TEST_NEW=1"));
  ::unsetenv("OMP_TEST_NEW");
  ::setenv("MASTER_ADDR", "new", 1);
  EXPECT_THAT(report(), AllOf(Contains(copied), Contains("environment MASTER_ADDR=new")));
  ::unsetenv("MASTER_ADDR");

  const auto before = std::filesystem::current_path();
  const auto program = std::filesystem::absolute(PROCESS_PROBE);
  std::filesystem::current_path("/");
  EXPECT_THAT(report(program), Contains("directory /"));
  std::filesystem::current_path(before);
  EXPECT_THAT(report(), Contains(copied)) << "as before all of this";
  ::unsetenv("OMP_TEST_GONE");
}

TEST(fork_server, of_a_driver_is_prepared_once_and_no_child_for_wait) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: nothing is copied";
#endif
  const auto host = new_host();
  const auto driver = run_probe(*host, probe({"nurse"}));
  EXPECT_EQ(driver->await_exit().describe(), "exited with status 0");
  EXPECT_THAT(driver->out(), UnorderedElementsAre("prepared", "copied", "copied", "sees no child"));
}

TEST(fork_server, a_program_that_serves_none_is_executed) {
  spawn_request other = probe({});
  other.program = "/bin/true";
  const auto from = fork_server::start(std::move(other));
  ASSERT_TRUE(from);
  const auto host = new_host();
  EXPECT_EQ(run_probe(*host, request_to(from, {"exit", "5"}))->await_exit().describe(), "exited with status 5");
}

}  // namespace
}  // namespace troupe::testing
