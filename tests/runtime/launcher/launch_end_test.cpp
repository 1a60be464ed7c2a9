// Goal: whatever ends a launch ends all its processes, in time.
// Method: signals to the launcher; drivers that obey and that do not; pidfds of all processes, opened while they live.
#include <csignal>

#include <gmock/gmock.h>

#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(launch_end, a_signal_goes_to_the_driver_by_both_ways) {
  struct told {
    int signal;
    int of_driver;
  };
  for (const auto [signal, of_driver] : {told{SIGINT, SIGINT}, told{SIGTERM, SIGTERM}, told{SIGHUP, SIGTERM}}) {
    launch_run run({.driver = {"open", "pause"}});
    run.await_line("paused");
    run.send(signal);
    EXPECT_EQ(run.status(), 128 + of_driver);
    // this one survives the signal, and ends by the message
    launch_run obedient({.driver = {"open", "block", "say", "ready", "pid", "await", "exit", "130"}});
    obedient.await_line("pid ");
    obedient.send(signal);
    EXPECT_EQ(obedient.status(), 130);
    EXPECT_THAT(obedient.out(), Contains("stop " + std::to_string(signal)));
  }
}

TEST(launch_end, a_node_that_is_taken_away_ends_it_as_a_signal_does) {
  launch_run run(
      {.driver = {"open", "block", "end-asked", "w1", "await", "end-asked", "w1", "pid", "await", "exit", "130"}});
  run.await_line("pid ");
  run.send(SIGTERM);  // the scheduler tells the launcher, too: that is no second signal to the driver
  run.send(SIGINT);
  EXPECT_EQ(run.status(), 130);
  EXPECT_THAT(run.out(), Contains("stop 15").Times(1));
  EXPECT_THAT(run.out(), Contains("stop 2"));
  EXPECT_THAT(run.said(), Contains(HasSubstr("[w1] it is about to be taken away")).Times(1));
}

TEST(launch_end, a_driver_that_does_not_obey_is_killed_after_its_grace) {
  launch_run run({.grace_ms = "50", .driver = {"open", "block", "pause"}});
  run.await_line("paused");
  run.send(SIGTERM);
  EXPECT_EQ(run.status(), 128 + SIGKILL);
  EXPECT_THAT(run.said().back(), HasSubstr("--grace")) << "says why";
}

TEST(launch_end, the_third_signal_kills_a_driver_that_does_not_obey) {
  launch_run run({.driver = {"open", "block", "pid", "await", "await", "pause"}});
  run.await_line("pid ");
  run.send(SIGTERM);
  run.await_line("stop 15");
  run.send(SIGINT);
  run.await_line("stop 2");
  run.await_line("paused");
  run.send(SIGTERM);
  EXPECT_EQ(run.status(), 128 + SIGKILL);
}

TEST(launch_end, an_ssh_that_does_not_end_is_killed) {
  launch_run run({.ssh = "stay", .driver = {"open", "ticket", "w1", "pause"}});
  run.await_file("w1.up");
  const watched_process ssh(text_of_file(run.place() / "w1.pid"));
  run.send(SIGTERM);
  run.await_file("w1.left");
  run.send(SIGTERM);  // does not wait for it any longer
  EXPECT_EQ(run.status(), 128 + SIGTERM);
  EXPECT_TRUE(ssh.ends_in_time());
}

TEST(launch_end, of_a_killed_launcher_leaves_no_process) {
  launch_run run({.ssh = "stay", .driver = {"open", "block", "ticket", "w1", "pid", "pause"}});
  run.await_file("w1.up");
  const watched_process ssh(text_of_file(run.place() / "w1.pid"));
  const watched_process driver(run.await_line("pid "));
  run.send(SIGKILL);
  EXPECT_EQ(run.status(), 128 + SIGKILL);
  EXPECT_TRUE(driver.ends_in_time());
  EXPECT_TRUE(ssh.ends_in_time());
}

TEST(launch_end, a_driver_below_a_script_hears_of_a_killed_launcher) {
  launch_run run({.command = {"/bin/sh", "-c", "\"$0\" open block pid await; exit 1", LAUNCH_DRIVER}});
  const watched_process driver(run.await_line("pid "));
  run.send(SIGKILL);
  EXPECT_TRUE(driver.ends_in_time()) << "by the end of its channel";
}

}  // namespace
}  // namespace troupe::testing
