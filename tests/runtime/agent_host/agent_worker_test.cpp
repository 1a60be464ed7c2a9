// Goal: a worker behind an agent is what a worker of this host is: it is spoken to and heard in order, it can be
// killed, its telemetry and its end are known, its environment names its slot. Method: both ends of a link in this
// process, and a real program as the worker.
#include <csignal>
#include <future>

#include "runtime/os/clock.hpp"
#include "tests/runtime/agent_host/agent_node.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(agent_worker, is_started_and_answers) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo hello"), "hello");
  ASSERT_TRUE(one.worker->pid());
  EXPECT_TRUE(lives(*one.worker->pid()));
  EXPECT_EQ(one.worker->place(), "process " + std::to_string(*one.worker->pid()) + " on n1");
  EXPECT_EQ(one.worker->name(), "worker 0");
  EXPECT_EQ(one.worker->home().node, "n1");
  EXPECT_EQ(one.worker->home().address, "192.0.2.1");
}

TEST(agent_worker, has_what_the_setup_says) {
  agent_node n1;
  agent_setup setup = probe_setup({"more", "arguments"});
  setup.environment = {{"TROUPE_TEST", "of the driver"}, {"HOME", "/elsewhere"}};
  n1.be_ready(setup);
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("variable TROUPE_TEST"), "of the driver");
  EXPECT_EQ(one.ask("variable HOME"), "/elsewhere");
  EXPECT_EQ(one.ask("variable PATH"), std::getenv("PATH"));
  EXPECT_EQ(one.ask("directory"), std::filesystem::current_path().string());
}

TEST(agent_worker, finds_its_slot_in_its_environment) {
  agent_node n1;
  agent_setup setup = probe_setup();
  setup.slots = 2;
  setup.first_rank = 4;
  setup.world_size = 8;
  n1.be_ready(setup);
  agent_host host = n1.new_host();
  const auto expect_slot = [](started_worker& worker, const std::string& rank, const std::string& local_rank) {
    EXPECT_EQ(worker.ask("variable RANK"), rank);
    EXPECT_EQ(worker.ask("variable LOCAL_RANK"), local_rank);
    EXPECT_EQ(worker.ask("variable WORLD_SIZE"), "8");
    EXPECT_EQ(worker.ask("variable LOCAL_WORLD_SIZE"), "2");
  };
  started_worker first(host);
  started_worker second(host);
  started_worker spare(host);
  expect_slot(first, "4", "0");
  expect_slot(second, "5", "1");
  expect_slot(spare, "12", "2");
  first.say("exit 0");
  ASSERT_TRUE(first.news->end());
  started_worker next(host);
  expect_slot(next, "4", "0");
}

TEST(agent_worker, messages_go_both_ways_in_order) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  started_worker other(host);
  constexpr std::size_t count = 1000;
  for (std::size_t i = 0; i < count; ++i) {
    one.say("echo " + std::to_string(i));
    other.say("echo other " + std::to_string(i));
  }
  const auto of_one = one.news->events.first(count);
  const auto of_other = other.news->events.first(count);
  ASSERT_EQ(of_one.size(), count);
  ASSERT_EQ(of_other.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(of_one[i], "said " + std::to_string(i));
    EXPECT_EQ(of_other[i], "said other " + std::to_string(i));
  }
}

// --- its end ---------------------------------------------------------------------------------------------------------

TEST(agent_worker, ends_with_its_status_and_last_lines) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("complain error E0614: first"), "done");
  EXPECT_EQ(one.ask("complain second"), "done");
  one.say("exit 3");
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, exit_kind::exited);
  EXPECT_EQ(end->value, 3);
  EXPECT_EQ(end->name, "worker 0");
  EXPECT_GT(end->max_resident_bytes, 0U);
  EXPECT_THAT(end->last_lines, ElementsAre("second"));
  ASSERT_TRUE(end->told) << "its error, as data";
  EXPECT_EQ(to_string(*end->told), "error E0614: first");
  EXPECT_EQ(one.news->pid_at_end(), static_cast<std::uint32_t>(end->pid));
  EXPECT_FALSE(lives(*one.worker->pid()));
}

TEST(agent_worker, ends_by_a_signal) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  one.say("die-of " + std::to_string(SIGSEGV));
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, exit_kind::signalled);
  EXPECT_EQ(end->value, SIGSEGV);
}

TEST(agent_worker, killed_by_its_driver_has_the_reason) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo ready"), "ready");
  one.worker->kill("it was silent for too long");
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->value, SIGKILL);
  EXPECT_THAT(one.worker->end_of(*end), HasSubstr("it was silent for too long, and was killed"));
}

TEST(agent_worker, gets_signals_of_a_fault_plan_until_its_end) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo ready"), "ready");
  EXPECT_TRUE(one.worker->signal(SIGSTOP));
  one.say("echo thawed");
  EXPECT_TRUE(one.worker->signal(SIGCONT));
  EXPECT_THAT(one.news->events.first(2), ElementsAre("said ready", "said thawed"));
  EXPECT_TRUE(one.worker->signal(SIGKILL));
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->value, SIGKILL);
  EXPECT_FALSE(one.worker->signal(SIGKILL));
}

TEST(agent_worker, hears_and_says_nothing_while_its_node_is_cut_off_and_then_all) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo ready"), "ready");
  constexpr std::chrono::milliseconds time{300};
  const auto began = std::chrono::steady_clock::now();
  n1.node->tell(apply_fault{.fault = static_cast<std::uint32_t>(node_fault::partition),
                            .with_workers = 1,
                            .lasts_ms = static_cast<std::uint64_t>(time.count())});
  const auto passed = [&] { return std::chrono::steady_clock::now() - began; };
  // What the agent reads together with the order still passes.
  for (int asked = 0; asked < 1000 && passed() < time / 6; ++asked) EXPECT_EQ(one.ask("echo back"), "back");
  EXPECT_GE(passed(), time);
}

TEST(agent_worker, killed_before_it_runs_ends_too) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  one.worker->kill();
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->value, SIGKILL);
}

TEST(agent_worker, that_ends_before_its_first_word_is_told) {
  agent_node n1;
  n1.be_ready(probe_setup({"dies"}));
  agent_host host = n1.new_host();
  std::vector<std::unique_ptr<started_worker>> some;
  for (int i = 0; i < 10; ++i) some.push_back(std::make_unique<started_worker>(host));
  for (const auto& each : some) {
    const auto end = each->news->end();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->value, 7);
    EXPECT_THAT(end->last_lines, ElementsAre("nothing to do"));
    EXPECT_TRUE(each->worker->pid());
  }
}

TEST(agent_worker, that_loses_its_link_is_told_and_lives_on) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo ready"), "ready");
  one.say("lose-link");
  EXPECT_THAT(one.news->events.first(2), ElementsAre("said ready", "link lost"));
  EXPECT_TRUE(lives(*one.worker->pid()));
  EXPECT_FALSE(one.news->has_ended());
  one.worker->kill();
  EXPECT_TRUE(one.news->end());
}

TEST(agent_worker, that_says_more_than_a_message_holds_is_killed_and_its_node_lives) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  started_worker other(host);
  one.say("say-bytes " + std::to_string(limits::wire_message_bytes_max));
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->value, SIGKILL);
  EXPECT_TRUE(n1.log.has("too large for its node")) << "the reason is in the log";
  EXPECT_EQ(other.ask("echo alive"), "alive");
}

TEST(agent_worker, that_is_told_more_than_a_message_holds_is_killed_and_its_node_lives) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  started_worker other(host);
  one.worker->send(codec::bytes(limits::wire_message_bytes_max));
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->value, SIGKILL);
  EXPECT_THAT(one.worker->killed_for(), HasSubstr("too large"));
  EXPECT_EQ(other.ask("echo alive"), "alive");
}

// --- output, telemetry -----------------------------------------------------------------------------------------------

TEST(agent_worker, prints_into_the_log_with_its_rank) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("print early"), "done");
  EXPECT_TRUE(n1.log.has("[rank 0] early"));
  one.worker->rename("stage 1");
  EXPECT_EQ(one.ask("complain error E0708: worker: its driver is gone"), "done");
  EXPECT_TRUE(n1.log.has("warning: [stage 1, rank 0] error E0708: worker: its driver is gone"));
}

TEST(agent_worker, has_its_end_in_the_log_where_it_had_no_stage) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker spare(host);
  started_worker stage(host);
  EXPECT_EQ(stage.ask("echo ready"), "ready");
  stage.worker->rename("stage 1");
  stage.say("exit 3");
  ASSERT_TRUE(stage.news->end());
  EXPECT_EQ(spare.ask("echo ready"), "ready");
  spare.say("exit 4");
  ASSERT_TRUE(spare.news->end());
  EXPECT_TRUE(n1.log.has("(" + spare.worker->place() + ") ended before it had a stage: exited with status 4"));
  EXPECT_EQ(n1.log.count("exited with status"), 1) << "the end of a stage is told with its stage";
}

TEST(agent_worker, is_logged_once_when_it_starts) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo ready"), "ready");
  EXPECT_EQ(one.ask("print later"), "done");
  EXPECT_TRUE(n1.log.has("later"));
  EXPECT_EQ(n1.log.count("was started"), 1);
  EXPECT_EQ(n1.log.count("(" + one.worker->place() + ") was started"), 1);
}

/// Polls: telemetry comes with heartbeats.
bool has_samples(const hosted_worker& worker, std::uint64_t samples) {
  const auto give_up_at = in_time();
  while (worker.telemetry().samples != samples) {
    if (std::chrono::steady_clock::now() > give_up_at) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(agent_worker, tells_its_telemetry_while_it_works) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  started_worker other(host);
  EXPECT_FALSE(one.worker->telemetry().has_begun);
  const auto before = steady_now();
  EXPECT_EQ(one.ask("work page 0 77"), "done");
  ASSERT_TRUE(has_samples(*one.worker, 77));
  const stage_telemetry seen = one.worker->telemetry();
  EXPECT_TRUE(seen.has_begun);
  EXPECT_EQ(seen.working_on, (micro_batch_id{1, 77}));
  ASSERT_TRUE(seen.since);
  EXPECT_GE(*seen.since, before);
  EXPECT_LE(*seen.since, steady_now());
  EXPECT_FALSE(other.worker->telemetry().has_begun);
}

TEST(agent_worker, tells_its_telemetry_also_while_its_node_has_much_to_do) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  started_worker other(host);
  EXPECT_EQ(other.ask("echo 0"), "0");
  EXPECT_EQ(one.ask("work page 0 77"), "done");
  const auto give_up_at = in_time();
  std::atomic<bool> enough{false};
  std::thread talks([&] {
    while (!enough) other.worker->send(bytes_of("echo-nothing"));
  });
  while (one.worker->telemetry().samples != 77 && std::chrono::steady_clock::now() < give_up_at) {
    std::this_thread::yield();
  }
  enough = true;
  talks.join();
  EXPECT_EQ(one.worker->telemetry().samples, 77U);
}

TEST(agent_worker, has_its_last_telemetry_at_its_end) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  const auto at_end = std::make_shared<stage_telemetry>();
  const auto news = std::make_shared<noted_worker>();
  std::promise<hosted_worker_ptr> promised;
  news->on_end = [&, known = promised.get_future().share()] { *at_end = known.get()->telemetry(); };
  const hosted_worker_ptr worker = *host.start(news);
  promised.set_value(worker);
  worker->send(bytes_of("work page 0 78"));
  worker->send(bytes_of("die-of " + std::to_string(SIGKILL)));
  ASSERT_TRUE(news->end());
  n1.end_driver();         // after what it tells
  news->on_end = nullptr;  // it keeps the worker, which keeps it
  EXPECT_EQ(at_end->samples, 78U);
  EXPECT_EQ(at_end->working_on, (micro_batch_id{1, 78}));
}

}  // namespace
}  // namespace troupe::testing
