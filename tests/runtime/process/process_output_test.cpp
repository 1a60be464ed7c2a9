// Goal: what workers say arrives whole, in order and bounded, and does not hold up the news of their end.
#include <array>
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(process_output, a_flood_arrives_and_its_tail_is_kept) {
  const auto host = new_host();
  const auto listener = run_probe(*host, probe({"flood", "1000"}));
  const auto lines = listener->err();
  ASSERT_EQ(lines.size(), 1000u);
  for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], "line " + std::to_string(i));
  const auto report = listener->await_exit();
  ASSERT_EQ(report.last_lines.size(), limits::worker_output_lines_kept);
  EXPECT_EQ(report.last_lines.front(), "line 980");
  EXPECT_EQ(report.last_lines.back(), "line 999");
  EXPECT_THAT(report.describe(), HasSubstr("exited with status 0; its last lines:\n  line 980\n"));
}

TEST(process_output, a_partial_last_line_arrives) {
  const auto host = new_host();
  EXPECT_THAT(run_probe(*host, probe({"partial"}))->err(), ElementsAre("whole", "half"));
}

TEST(process_output, a_long_line_is_cut) {
  const auto host = new_host();
  const auto listener = run_probe(*host, probe({"long-line", "1000000"}));
  EXPECT_THAT(listener->out(), ElementsAre(std::string(limits::worker_output_line_bytes_max, 'x'), "next"));
}

TEST(process_output, its_end_is_not_the_worker_s) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  const auto worker = host->start(probe({"close-output"}), listener);
  ASSERT_TRUE(worker && listener->await_lines(1));
  // One that ends later is noticed, so the host's thread has gone on; this one still runs.
  run_probe(*host, probe({"exit", "0"}));
  EXPECT_FALSE(listener->has_ended());
  EXPECT_TRUE(host->kill(*worker, SIGKILL));
  EXPECT_EQ(listener->await_exit().describe(), "killed by SIGKILL");
}

/// The grandchild that a probe left behind, as a pidfd.
unique_fd grandchild_of(const probe_listener& listener) {
  const auto lines = listener.out();
  if (lines.empty() || !lines.front().starts_with("grandchild ")) return {};
  return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(lines.front().substr(11)), 0)));
}

TEST(process_output, what_a_worker_leaves_in_its_group_ends_with_it) {
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  ASSERT_TRUE(host->start(probe({"leave-grandchild"}), listener));
  EXPECT_EQ(listener->await_exit().describe(), "exited with status 0");
  const unique_fd grandchild = grandchild_of(*listener);
  if (!grandchild) return;  // reaped already
  pollfd ended{grandchild.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 20'000), 1);
}

TEST(process_output, whoever_else_holds_the_pipe_does_not_delay_the_end_for_ever) {
  for (const char* does : {"waits", "floods"}) {
    const auto host = new_host();
    const auto listener = run_probe(*host, probe({"leave-grandchild", "escapes", does}));
    EXPECT_EQ(listener->await_exit().describe().substr(0, 20), "exited with status 0");
    const unique_fd grandchild = grandchild_of(*listener);
    // The one that floods may have ended of SIGPIPE.
    if (grandchild) ::syscall(SYS_pidfd_send_signal, grandchild.get(), SIGKILL, nullptr, 0);
  }
}

TEST(process_output, standard_descriptors_may_be_given) {
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  ASSERT_EQ(::pipe2(input.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(output.data(), O_CLOEXEC), 0);
  const unique_fd reads(output[0]);
  unique_fd writes(input[1]);
  spawn_request request;
  request.name = "copy";
  request.program = "/bin/sh";
  request.arguments = {"sh", "-c", "cat; echo to the starter >&2"};
  request.standard_input.reset(input[0]);
  request.standard_output.reset(output[1]);
  const auto host = new_host();
  const auto listener = std::make_shared<probe_listener>();
  ASSERT_TRUE(host->start(std::move(request), listener));
  ASSERT_EQ(::write(writes.get(), "copied", 6), 6);
  writes.reset();
  EXPECT_EQ(listener->await_exit().describe(), "exited with status 0; its last lines:\n  to the starter");
  std::array<char, 16> got{};
  EXPECT_EQ(::read(reads.get(), got.data(), got.size()), 6);
  EXPECT_EQ(std::string(got.data()), "copied");
  EXPECT_EQ(::read(reads.get(), got.data(), got.size()), 0) << "the host has no copy of its end";
  EXPECT_TRUE(listener->out().empty());
}

}  // namespace
}  // namespace troupe::testing
