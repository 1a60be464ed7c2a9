// Goal: agents are started as ssh is called, with the ticket on the standard input alone.
// Method: launches with a script in place of ssh, which writes down what it was given.
#include "runtime/launcher/ssh_agents.hpp"

#include <csignal>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

TEST(ssh_command, is_what_openssh_takes) {
  EXPECT_THAT(openssh_words("/usr/bin/ssh", 1500ms),
              ElementsAre("/usr/bin/ssh", "-a", "-o", "BatchMode=yes", "-o", "ConnectTimeout=2"));
  const ssh_options options{{"ssh"}, "/opt/it's/troupe-agent", "/home/a b", {}};
  EXPECT_EQ(remote_command(options), "cd '/home/a b' && exec '/opt/it'\\''s/troupe-agent' --stdin --error-line");
}

TEST(ssh_agents, give_the_ticket_on_the_input_alone) {
  launch_run run({.nodes = "w0,w1,w2", .driver = {"open", "ticket", "w1", "ticket", "w2", "pause"}});
  for (const std::string node : {"w1", "w2"}) {
    run.await_file(node + ".up");
    EXPECT_EQ(text_of_file(run.place() / (node + ".ticket")), "ticket-of-" + node + "\n");
    EXPECT_EQ(
        text_of_file(run.place() / (node + ".arguments")),
        "4\n" + node + "\ncd '/the working/directory' && exec '/the agent'\\''s/troupe-agent' --stdin --error-line\n");
    EXPECT_THAT(text_of_file(run.place() / (node + ".environment")), Not(HasSubstr("ticket-of")));
    EXPECT_FALSE(std::filesystem::exists(run.place() / (node + ".left"))) << "its input stays open";
  }
  run.send(SIGTERM);
  run.status();
  for (const char* node : {"w1.left", "w2.left"}) EXPECT_TRUE(std::filesystem::exists(run.place() / node));
}

TEST(ssh_agents, are_on_their_way_before_the_driver_has_a_ticket) {
  launch_run run({.driver = {"open", "block", "pid", "await", "ticket", "w1", "pause"}});
  run.await_line("pid ");
  run.await_file("w1.environment");
  EXPECT_FALSE(std::filesystem::exists(run.place() / "w1.up"));
  run.send(SIGTERM);
  run.await_file("w1.up");
  EXPECT_EQ(text_of_file(run.place() / "w1.ticket"), "ticket-of-w1\n");
  run.send(SIGINT);
  run.send(SIGHUP);
  run.status();
}

TEST(ssh_agents, end_with_a_driver_that_has_no_ticket) {
  launch_run run({.driver = {"open", "block", "pid", "await", "exit", "5"}});
  run.await_line("pid ");
  run.await_file("w1.environment");
  const watched_process ssh(text_of_file(run.place() / "w1.pid"));
  run.send(SIGTERM);
  EXPECT_EQ(run.status(), 5);
  EXPECT_TRUE(ssh.ends_in_time());
  EXPECT_FALSE(std::filesystem::exists(run.place() / "w1.up"));
}

TEST(ssh_agents, lines_of_nodes_go_to_stderr_with_their_names) {
  launch_run run({.driver = {"open", "ticket", "w1", "joined", "w1", "pause"}});
  run.await_file("w1.up");
  run.await_line("paused");
  run.send(SIGTERM);
  EXPECT_EQ(run.status(), 128 + SIGTERM);
  EXPECT_THAT(run.said(), Contains("[w1] agent says"));
  EXPECT_THAT(run.said(), Contains("[w1] agent warns"));
  EXPECT_THAT(run.out(), ElementsAre("nodes 2", "paused")) << "the driver's stdout, and nothing else";
}

TEST(ssh_agents, lines_are_bounded_and_drive_no_terminal) {
  launch_run run({.ssh = "control", .driver = {"open", "ticket", "w1", "pause"}});
  run.await_file("w1.up");
  run.send(SIGTERM);
  run.status();
  EXPECT_THAT(run.said(), Contains("[w1] as OpenSSH ends lines"));
  EXPECT_THAT(run.said(), Contains("[w1] colour \\x1b[31m and bell \\x07"));
  std::size_t longest = 0;
  for (const std::string& line : run.said()) longest = std::max(longest, line.size());
  EXPECT_LE(longest, limits::worker_output_line_bytes_max + 8);
  EXPECT_GE(longest, limits::worker_output_line_bytes_max - 8);
}

TEST(ssh_agents, one_that_ends_before_it_has_joined_has_failed) {
  launch_run run({.ssh = "refuse", .driver = {"open", "ticket", "w1", "await", "exit", "5"}});
  EXPECT_EQ(run.status(), 5);
  const std::string cause = "ssh: connect to host w1 port 22: Connection refused (exit status 255)";
  EXPECT_THAT(run.out(), Contains("failed w1: " + cause));
  EXPECT_THAT(run.said(), Contains("warning: [w1] no agent: " + cause));
  EXPECT_THAT(run.said().back(), EndsWith(cause)) << "the cause stands last";
  launch_run silent({.ssh = "silent", .driver = {"open", "ticket", "w1", "await"}});
  EXPECT_EQ(silent.status(), 0) << "the driver has gone on without it";
  EXPECT_EQ(silent.await_line("failed w1: "), "it has ended before its agent has joined (exit status 0)");
}

TEST(ssh_agents, the_cause_that_an_agent_tells_is_the_cause_and_its_fix_the_fix) {
  for (const std::string way : {"tell", "tell-text"}) {
    launch_run run({.ssh = way, .driver = {"open", "ticket", "w1", "await", "await", "exit", "5"}});
    EXPECT_EQ(run.status(), 5);
    const std::string cause = "E0707: joining at w0:4000: its certificate is of another time (exit status 1)";
    EXPECT_EQ(run.await_line("failed w1: "), cause);
    EXPECT_EQ(run.await_line("its fix: "), "Set the clocks");
    EXPECT_THAT(run.said(), Contains("[w1] error E0707: joining at w0:4000: its certificate is of another time"));
    EXPECT_THAT(run.said(), Contains("[w1]   fix: Set the clocks")) << "for people, as the agent says it";
    EXPECT_THAT(run.said(), Contains("warning: [w1] no agent: " + cause));
    ASSERT_GE(run.said().size(), 2U);
    EXPECT_THAT(run.said().at(run.said().size() - 2), EndsWith("no agent on node w1: " + cause));
    EXPECT_EQ(run.said().back(), "  fix: Set the clocks");
    EXPECT_THAT(run.said(), Not(Contains(HasSubstr("troupe-error"))));
  }
}

TEST(ssh_agents, a_ticket_for_no_node_ends_the_launch) {
  launch_run run({.driver = {"open", "ticket", "w2", "await"}});
  EXPECT_NE(run.status(), 0) << "w2 is no node of the launch";
  EXPECT_THAT(run.said().back(), HasSubstr("w2"));
}

TEST(ssh_agents, a_name_that_does_not_resolve_yet_is_tried_again) {
  launch_run run({.ssh = "late-name", .driver = {"open", "ticket", "w1", "pause"}});
  run.await_file("w1.up");
  EXPECT_EQ(text_of_file(run.place() / "w1.attempts"), "x\nx\nx\n");
  EXPECT_EQ(text_of_file(run.place() / "w1.ticket"), "ticket-of-w1\n");
  run.send(SIGTERM);
  run.status();
}

TEST(ssh_agents, a_second_ticket_replaces_the_agent) {
  launch_run run({.driver = {"open", "block", "ticket", "w1", "await", "ticket", "w1", "pause"}});
  run.await_file("w1.up");
  const watched_process first(text_of_file(run.place() / "w1.pid"));
  std::filesystem::remove(run.place() / "w1.up");
  run.send(SIGTERM);
  run.await_file("w1.up");
  EXPECT_TRUE(first.ends_in_time());
  const watched_process second(text_of_file(run.place() / "w1.pid"));
  // equal ones could count as one
  run.send(SIGINT);
  run.send(SIGHUP);
  EXPECT_EQ(run.status(), 128 + SIGKILL);
  EXPECT_TRUE(second.ends_in_time());
  for (const std::string& line : run.said()) EXPECT_THAT(line, Not(HasSubstr("no agent"))) << line;
}

}  // namespace
}  // namespace troupe::testing
