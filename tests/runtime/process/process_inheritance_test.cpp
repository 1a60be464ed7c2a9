// Goal: a worker inherits what was asked for and nothing else, whatever the driver has open, ignores or blocks.
#include <algorithm>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/os/open_file_limit.hpp"
#include "runtime/process/fd_channel.hpp"
#include "runtime/process/memory_file.hpp"
#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_with(const std::vector<std::string>& lines, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    if (line.starts_with(prefix)) found.push_back(line.substr(prefix.size()));
  }
  return found;
}

std::vector<std::string> report_of(spawn_request request) {
  const auto host = new_host();
  return run_probe(*host, std::move(request))->out();
}

TEST(process_inheritance, arguments_and_environment_are_as_asked) {
  ASSERT_EQ(::setenv("TROUPE_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(::setenv("TROUPE_TEST_REPLACED", "old", 1), 0);
  spawn_request request = probe({"report", "", "two words"});
  request.environment = {{"TROUPE_TEST_REPLACED", "new=1"}, {"TROUPE_TEST_ADDED", ""}};
  const auto lines = report_of(std::move(request));
  EXPECT_THAT(lines_with(lines, "argument "), ElementsAre("report", "", "two words"));
  auto variables = lines_with(lines, "environment TROUPE_TEST_");
  std::ranges::sort(variables);
  EXPECT_THAT(variables, ElementsAre("ADDED=", "KEPT=kept", "REPLACED=new=1"));
}

TEST(process_inheritance, descriptors_are_exactly_those_asked_for) {
  // Open without close-on-exec, low and high.
  std::vector<unique_fd> open;
  for (int i = 0; i < 40; ++i) open.emplace_back(::open("/dev/zero", O_RDONLY));
  open.emplace_back(::fcntl(open.front().get(), F_DUPFD, 500));
  const auto text = memory_file::make("inherited", "text");
  ASSERT_TRUE(text);
  const auto lines = [&] {
    spawn_request request = probe({"report"});
    request.fds.push_back({std::move(*text->duplicate()), 60});
    request.fds.push_back({unique_fd(::open("/dev/full", O_RDONLY | O_CLOEXEC)), 3});
    request.fds.push_back({std::move(*text->duplicate()), 10});
    return lines_with(report_of(std::move(request)), "fd ");
  }();
  EXPECT_THAT(lines, ElementsAre("0 /dev/null", StartsWith("1 pipe:"), StartsWith("2 pipe:"), "3 /dev/full",
                                 StartsWith("10 /memfd:inherited"), StartsWith("60 /memfd:inherited")));
}

TEST(process_inheritance, limit_of_open_files_is_that_before_the_driver_raised_it) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lower{.rlim_cur = 250, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  ASSERT_TRUE(raise_open_file_limit());
  EXPECT_THAT(lines_with(report_of(probe({"report"})), "open files "), ElementsAre("250"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(process_inheritance, numbers_may_cross) {
  // Each is to be found where another one lies here.
  std::vector<unique_fd> sources;
  const std::vector<std::string> names = {"/dev/null", "/dev/zero", "/dev/full"};
  for (const std::string& name : names) sources.emplace_back(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_LE(sources.back().get(), limits::worker_inherited_fd_max);
  spawn_request request = probe({"report"});
  std::vector<std::string> expected_lines;
  std::vector<int> numbers;
  for (const unique_fd& source : sources) numbers.push_back(source.get());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const int number = numbers[(i + 1) % numbers.size()];
    request.fds.push_back({std::move(sources[i]), number});
    expected_lines.push_back(std::to_string(number) + " " + names[i]);
  }
  const auto lines = lines_with(report_of(std::move(request)), "fd ");
  for (const std::string& line : expected_lines) EXPECT_THAT(lines, Contains(line));
  EXPECT_EQ(lines.size(), 3 + numbers.size());
}

TEST(process_inheritance, numbers_may_be_those_that_are_free_here) {
  // Where a child without care would put its own copies.
  constexpr int count = 10;
  const std::vector<std::string> names = {"/dev/null", "/dev/zero", "/dev/full"};
  for (int first = 3; first + count <= limits::worker_inherited_fd_max; first += 6) {
    spawn_request request = probe({"report"});
    std::vector<std::string> wanted;
    for (int number = first; number < first + count; ++number) {
      const std::string& name = names[static_cast<std::size_t>(number) % names.size()];
      request.fds.push_back({unique_fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC)), number});
      wanted.push_back(std::to_string(number) + " " + name);
    }
    auto lines = lines_with(report_of(std::move(request)), "fd ");
    ASSERT_EQ(lines.size(), 3u + count);
    lines.erase(lines.begin(), lines.begin() + 3);
    EXPECT_EQ(lines, wanted);
  }
}

TEST(process_inheritance, it_has_its_own_group_and_dies_with_the_driver) {
  const auto lines = report_of(probe({"report"}));
  EXPECT_EQ(lines_with(lines, "group "), lines_with(lines, "pid "));
  EXPECT_THAT(lines_with(lines, "death signal "), ElementsAre(std::to_string(SIGKILL)));
}

TEST(process_inheritance, signals_are_neither_blocked_nor_ignored) {
  const auto pipe_before = std::signal(SIGPIPE, SIG_IGN);
  const auto hang_up_before = std::signal(SIGHUP, SIG_IGN);
  const auto user_before = std::signal(SIGUSR1, [](int) {});
  const auto lines = report_of(probe({"report"}));
  std::signal(SIGPIPE, pipe_before);
  std::signal(SIGHUP, hang_up_before);
  std::signal(SIGUSR1, user_before);
  EXPECT_THAT(lines, Each(Not(StartsWith("blocked"))));
  // Sanitizers install handlers of their own in the probe.
  for (const int number : {SIGPIPE, SIGHUP, SIGUSR1}) {
    EXPECT_THAT(lines, Not(Contains("not default " + std::to_string(number))));
  }
}

TEST(process_inheritance, descriptors_travel_over_an_inherited_channel) {
  auto ends = fd_channel::make();
  ASSERT_TRUE(ends);
  auto& [channel, socket] = *ends;
  const auto text = memory_file::make("travels", "from the driver");
  ASSERT_TRUE(text);
  const int travels = text->fd();
  ASSERT_EQ(*channel.send("tensor", {&travels, 1}), channel_status::done);
  const auto host = new_host();
  spawn_request request = probe({"channel", "7"});
  request.fds.push_back({std::move(socket), 7});
  const auto listener = run_probe(*host, std::move(request));
  const auto report = listener->await_exit();
  EXPECT_EQ(report.describe(), "exited with status 0");
  EXPECT_THAT(listener->out(), ElementsAre("tensor: from the driver"));
  channel.expect_sender(report.pid);
  const auto back = channel.receive();
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->message.tag, "back");
  ASSERT_EQ(back->message.fds.size(), 1u);
  const auto end = channel.receive();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, channel_status::closed);
}

}  // namespace
}  // namespace troupe::testing
