// Goal: a copy of a nursery is the worker that exec would have made, and exec makes it where a copy cannot be.
#include "runtime/process/nursery.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr const char* copied = "argument of the nursery";

/// Its copies have an argument that no request names.
std::shared_ptr<nursery> nursery_of(std::vector<std::string> arguments) {
  arguments.emplace_back("of the nursery");
  spawn_request program = probe(std::move(arguments));
  program.environment = {{"OMP_TEST", "1"}};
  return nursery::start(std::move(program));
}

spawn_request request_to(const std::shared_ptr<nursery>& from, std::vector<std::string> arguments) {
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

TEST(nursery, copies_are_as_if_executed) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: all is executed";
#endif
  const auto from = nursery_of({"report"});
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
    EXPECT_THAT(ends_of(lines, "environment TROUPE_NURSERY"), ::testing::IsEmpty());
    EXPECT_THAT(ends_of(lines, "fd "), UnorderedElementsAre("0 /dev/null", StartsWith("1 pipe:"), StartsWith("2 pipe:"),
                                                            "3 /dev/full", "4 /dev/full", "60 /dev/full"));
    EXPECT_EQ(ends_of(lines, "group "), ends_of(lines, "pid "));
    EXPECT_THAT(lines, Contains("pid " + std::to_string(listener->await_exit().pid)));
    EXPECT_THAT(lines, Contains("death signal " + std::to_string(SIGKILL)));
    EXPECT_THAT(ends_of(lines, "blocked "), ::testing::IsEmpty());
  }
}

TEST(nursery, copies_are_watched_and_outlive_it) {
  const auto from = nursery_of({"wait"});
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

TEST(nursery, variables_that_libraries_read_while_loaded_need_exec) {
  const auto from = nursery_of({"report"});
  ASSERT_TRUE(from);
  const auto host = new_host();
  spawn_request request = request_to(from, {"report"});
  request.environment.emplace_back("OMP_NUM_THREADS", "3");
  const auto lines = run_probe(*host, std::move(request))->out();
  EXPECT_THAT(lines, Contains("environment OMP_NUM_THREADS=3"));
  EXPECT_THAT(lines, Not(Contains(copied)));
}

/// As for a program that changes something between the constructor of troupe::program and its run.
TEST(nursery, what_changed_since_it_was_made_holds_for_workers) {
  ::setenv("OMP_TEST_GONE", "1", 1);
  const auto from = nursery_of({"report"});
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

TEST(nursery, of_a_driver_is_prepared_once_and_no_child_for_wait) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own: nothing is copied";
#endif
  const auto host = new_host();
  const auto driver = run_probe(*host, probe({"nurse"}));
  EXPECT_EQ(driver->await_exit().describe(), "exited with status 0");
  EXPECT_THAT(driver->out(), UnorderedElementsAre("prepared", "copied", "copied", "sees no child"));
}

TEST(nursery, a_program_that_serves_none_is_executed) {
  spawn_request other = probe({});
  other.program = "/bin/true";
  const auto from = nursery::start(std::move(other));
  ASSERT_TRUE(from);
  const auto host = new_host();
  EXPECT_EQ(run_probe(*host, request_to(from, {"exit", "5"}))->await_exit().describe(), "exited with status 5");
}

}  // namespace
}  // namespace troupe::testing
