// Goal: a launch ends as its driver does, says why where it fails, and has the driver's stdout for its own.
// Method: real processes: a driver that does as it is told, and a script in place of ssh.
#include <csignal>

#include <gmock/gmock.h>

#include "runtime/launcher/join_files.hpp"
#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(launch, ends_as_its_driver) {
  for (const std::string status : {"0", "1", "3", "124"}) {
    launch_run run({.driver = {"open", "launch-variable", "say", "the cause", "exit", status}});
    EXPECT_EQ(std::to_string(run.status()), status);
    EXPECT_THAT(run.out(), ElementsAre("nodes 2", "no variable"));
    EXPECT_THAT(run.said(), ElementsAre("the cause")) << "it has said its cause itself";
  }
}

TEST(launch, of_a_driver_that_is_killed_says_so) {
  launch_run run({.driver = {"open", "die", std::to_string(SIGKILL)}});
  EXPECT_EQ(run.status(), 128 + SIGKILL);
  EXPECT_THAT(run.said().back(), HasSubstr("killed by SIGKILL"));
}

TEST(launch, of_any_program_works) {
  launch_run run({.command = {"/bin/sh", "-c", "echo result; exit 4"}});
  EXPECT_EQ(run.status(), 4);
  EXPECT_THAT(run.out(), ElementsAre("result"));
  EXPECT_THAT(run.said(), IsEmpty());
}

TEST(launch, gives_its_driver_the_variables_of_all_nodes) {
  launch_run run({.command = {"/bin/sh", "-c", "echo \"$FOR_ALL_NODES\""}});
  EXPECT_EQ(run.status(), 0);
  EXPECT_THAT(run.out(), ElementsAre("and for the driver"));
}

TEST(launch, of_no_program_fails) {
  launch_run run({.command = {"/no/such/program"}});
  EXPECT_EQ(run.status(), 99);
  EXPECT_THAT(run.said().front(), HasSubstr("/no/such/program"));
}

TEST(launch, through_a_script_reaches_the_driver) {
  launch_run run({.command = {"/bin/sh", "-c", "\"$0\" open ticket w1 joined w1; exit $?", LAUNCH_DRIVER}});
  EXPECT_EQ(run.status(), 0);
  EXPECT_THAT(run.out(), ElementsAre("nodes 2"));
}

TEST(launch, agents_leave_when_the_driver_has_ended) {
  launch_run run({.driver = {"open", "ticket", "w1", "joined", "w1", "await"}});
  run.await_file("w1.up");
  const watched_process ssh(text_of_file(run.place() / "w1.pid"));
  run.send(SIGTERM);
  run.status();
  EXPECT_TRUE(ssh.ends_in_time());
  EXPECT_TRUE(std::filesystem::exists(run.place() / "w1.left")) << "by the end of its input";
}

TEST(launch, names_the_end_of_the_driver_below_what_agents_say_after_it) {
  launch_run run({.ssh = "complain", .driver = {"open", "ticket", "w1", "joined", "w1", "pause"}});
  run.await_file("w1.up");
  run.send(SIGTERM);
  EXPECT_EQ(run.status(), 128 + SIGTERM);
  EXPECT_THAT(run.said(), Contains("[w1] lost the driver"));
  EXPECT_THAT(run.said().back(), HasSubstr("killed by SIGTERM"));
}

TEST(launch, ends_with_a_driver_whose_words_are_no_messages) {
  launch_run run({.command = {"/bin/sh", "-c", "echo nonsense >&3; while :; do sleep 1000; done"}});
  EXPECT_EQ(run.status(), 128 + SIGKILL);
  EXPECT_THAT(run.said().front(), StartsWith("error E0702"));
}

TEST(launch, its_driver_has_a_process_group_of_its_own) {
  launch_run run({.driver = {"open", "group"}});
  EXPECT_EQ(run.status(), 0);
  EXPECT_THAT(run.out(), Contains("own group"));
}

TEST(launch, with_join_files_reaches_agents_that_wait) {
  launch_run run({.ssh = "files", .driver = {"open", "block", "real-ticket", "w1", "await", "joined", "w1", "pause"}});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto found = await_join_file((run.place() / "job.1").string(), "w1", until);
  EXPECT_TRUE(found) << to_string(found.error());
  run.send(SIGTERM);
  run.await_line("paused");
  // equal ones could count as one
  run.send(SIGINT);
  run.send(SIGHUP);
  EXPECT_EQ(run.status(), 128 + SIGKILL);
  EXPECT_TRUE(std::filesystem::is_empty(run.place())) << "no ticket is left";
}

TEST(launch, with_a_ticket_that_is_none_tells_the_driver) {
  launch_run run({.ssh = "files", .driver = {"open", "ticket", "w1", "await", "exit", "1"}});
  EXPECT_EQ(run.status(), 1);
  EXPECT_THAT(run.await_line("failed w1: "), HasSubstr("ticket"));
}

}  // namespace
}  // namespace troupe::testing
