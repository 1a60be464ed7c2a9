// Goal: stop() ends all workers of a run on a node, by force where they do not end by themselves, tells the end of each
// before it returns, and leaves the agent as it was for the next run.
#include <csignal>

#include "tests/runtime/agent_host/agent_node.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

TEST(agent_stop, ends_all_workers_and_tells_it_before) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  std::vector<std::unique_ptr<started_worker>> some;
  for (int i = 0; i < 3; ++i) some.push_back(std::make_unique<started_worker>(host));
  for (const auto& each : some) EXPECT_EQ(each->ask("echo ready"), "ready");
  host.close();
  EXPECT_TRUE(host.stop(in_time(), limits::worker_stop_grace));
  for (const auto& each : some) {
    ASSERT_TRUE(each->news->has_ended());
    EXPECT_EQ(each->news->end()->value, SIGTERM);
    EXPECT_FALSE(lives(*each->worker->pid()));
  }
  EXPECT_EQ(n1.log.count("ended before it had a stage"), 0) << "ends are those of the run";
}

TEST(agent_stop, tells_the_end_of_a_worker_whose_link_is_held_by_another_process) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  const auto holder = static_cast<pid_t>(std::stoi(one.ask("fork")));
  EXPECT_TRUE(host.stop(in_time(), limits::worker_stop_grace));
  EXPECT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_TRUE(one.news->has_ended());
  EXPECT_EQ(one.news->end()->value, SIGTERM);
  one.worker->kill("too late");
  agent_host next = n1.new_host();
  started_worker other(next);
  EXPECT_EQ(other.ask("echo alive"), "alive") << "the agent knows nothing of it any more";
}

TEST(agent_stop, kills_those_that_do_not_end) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("ignore-term"), "done");
  EXPECT_TRUE(host.stop(in_time(), 10ms));
  ASSERT_TRUE(one.news->has_ended());
  EXPECT_EQ(one.news->end()->value, SIGKILL);
}

TEST(agent_stop, gives_the_grace_that_was_asked_for) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("ignore-term"), "done");
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(host.stop(in_time(), 700ms));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 700ms);
}

TEST(agent_stop, starts_nothing_afterwards) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  host.close();
  const auto refused = host.start(std::make_shared<noted_worker>());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::engine_stopped);
  EXPECT_TRUE(host.stop(in_time(), 10ms)) << "there was none";
  EXPECT_TRUE(host.stop(in_time(), 10ms)) << "may be repeated";
}

TEST(agent_stop, one_run_follows_another) {
  agent_node n1;
  n1.be_ready();
  const blob shared = *blob::make("test", 5, [](std::span<std::byte> place) { std::memcpy(place.data(), "hello", 5); });
  std::optional<std::uint32_t> last_pid;
  for (int run = 0; run < 3; ++run) {
    agent_host host = n1.new_host();
    started_worker one(host);
    EXPECT_EQ(one.worker->rank(), static_cast<std::uint32_t>(run));
    ASSERT_TRUE(one.worker->hand_over("input", {&shared, 1}));
    EXPECT_EQ(one.ask("read input 0 0 5"), "hello") << "sent again in run " << run;
    EXPECT_EQ(one.ask("variable LOCAL_RANK"), "0") << "the slots are free again";
    EXPECT_NE(one.worker->pid(), last_pid);
    last_pid = one.worker->pid();
    EXPECT_TRUE(host.stop(in_time(), limits::worker_stop_grace));
    EXPECT_TRUE(one.news->has_ended());
  }
}

TEST(agent_stop, what_is_asked_of_a_worker_afterwards_does_nothing) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  const blob page = *one.worker->page();
  EXPECT_EQ(one.ask("echo ready"), "ready");
  ASSERT_TRUE(host.stop(in_time(), limits::worker_stop_grace));
  one.say("echo unheard");
  one.worker->kill("too late");
  EXPECT_TRUE(one.worker->hand_over("old-page", {&page, 1}));
  agent_host next = n1.new_host();
  started_worker other(next);
  ASSERT_TRUE(other.worker->hand_over("old-page", {&page, 1}));
  EXPECT_EQ(other.ask("count old-page 0"), "1") << "the agent lives";
}

TEST(agent_stop, of_the_agent_itself_ends_its_workers_and_is_no_error) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("ignore-term"), "done");
  n1.stop_agent();
  const auto served = n1.join();
  EXPECT_TRUE(served) << to_string(served.error());
  EXPECT_FALSE(lives(*one.worker->pid()));
  EXPECT_FALSE(has_children());
}

TEST(agent_stop, of_an_agent_that_has_no_driver_yet_ends_it) {
  agent_node n1;
  n1.stop_agent();
  EXPECT_TRUE(n1.join());
}

}  // namespace
}  // namespace troupe::testing
