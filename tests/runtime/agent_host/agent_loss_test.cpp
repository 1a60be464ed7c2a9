// Goal: the loss of a node is the end of all its workers, told once and after the loss itself, and an agent whose
// driver is gone, or says what cannot be, leaves no process. Method: ends of links that close as those of dead
// processes do.
#include <fstream>
#include <future>

#include <unistd.h>

#include "messages/codec/codec.hpp"
#include "tests/runtime/agent_host/agent_node.hpp"
#include "tests/runtime/agent_host/test_blobs.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(agent_loss, of_the_node_ends_all_its_workers_for_the_driver) {
  noted_events order;  // told until the end of the node
  agent_node n1;
  n1.be_ready();
  n1.node->on_lost([&](const error& why) {
    EXPECT_EQ(why.code, error_code::node_lost);
    EXPECT_EQ(why.where, "node n1");
    order.note("lost");
  });
  agent_host host = n1.new_host();
  std::vector<std::pair<std::shared_ptr<noted_worker>, hosted_worker_ptr>> some;
  for (int i = 0; i < 3; ++i) {
    const auto news = std::make_shared<noted_worker>();
    news->on_end = [&] { order.note("ended"); };
    some.emplace_back(news, *host.start(news));
  }
  some.front().second->send(bytes_of("echo ready"));
  some.front().first->events.first(1);
  n1.end_agents_link();
  EXPECT_THAT(order.first(4), ElementsAre("lost", "ended", "ended", "ended"));
  for (const auto& [news, worker] : some) {
    const auto end = news->end();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->kind, exit_kind::lost);
    EXPECT_THAT(end->note, HasSubstr("its node was lost: "));
    EXPECT_THAT(worker->end_of(*end), HasSubstr("its node was lost"));
  }
  ASSERT_TRUE(n1.node->loss());
  EXPECT_EQ(n1.node->loss()->code, error_code::node_lost);
  const auto refused = host.start(std::make_shared<noted_worker>());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::node_lost);
  EXPECT_TRUE(host.stop(in_time(), 1ms)) << "nothing that this driver could end is left";
}

TEST(agent_loss, is_told_also_to_those_that_ask_later) {
  noted_events told;
  agent_node n1;
  n1.be_ready();
  n1.end_agents_link();
  n1.node->on_lost([&](const error&) { told.note("first"); });
  EXPECT_THAT(told.first(1), ElementsAre("first"));
  n1.node->on_lost([&](const error& why) {
    EXPECT_EQ(why.code, error_code::node_lost);
    told.note("later");
  });
  EXPECT_THAT(told.first(2), ElementsAre("first", "later"));
}

TEST(agent_loss, of_the_driver_ends_all_workers_of_the_agent) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  std::vector<std::unique_ptr<started_worker>> some;
  for (int i = 0; i < 3; ++i) {
    some.push_back(std::make_unique<started_worker>(host));
    EXPECT_EQ(some.back()->ask("ignore-term"), "done");
  }
  n1.end_driver();
  const auto served = n1.join();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, error_code::peer_lost);
  for (const auto& each : some) EXPECT_FALSE(lives(*each->worker->pid()));
  EXPECT_FALSE(has_children());
}

/// Nothing but the driver could tell that its run ended: the rest of the work has no worth any more.
TEST(agent_loss, of_the_driver_ends_workers_that_were_given_a_grace) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker stubborn(host);
  started_worker meek(host);
  EXPECT_EQ(stubborn.ask("ignore-term"), "done");
  EXPECT_EQ(meek.ask("echo ready"), "ready");
  EXPECT_FALSE(host.stop(std::chrono::steady_clock::now(), 2 * noted_events::patience));
  ASSERT_TRUE(meek.news->end()) << "both were asked to end";
  n1.end_driver();
  static_cast<void>(n1.join());
  EXPECT_FALSE(lives(*stubborn.worker->pid()));
}

TEST(agent_loss, by_the_will_of_the_driver_ends_agent_and_workers) {
  agent_node n1;
  n1.be_ready();
  agent_host host = n1.new_host();
  started_worker one(host);
  EXPECT_EQ(one.ask("echo ready"), "ready");
  n1.node->lose({error_code::node_lost, {}, "it is too slow", {}});
  ASSERT_TRUE(n1.node->loss());
  EXPECT_EQ(n1.node->loss()->cause, "it is too slow");
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->note, "its node was lost: it is too slow");
  EXPECT_FALSE(n1.join()) << "the agent hears of it, though the driver lives on";
  EXPECT_FALSE(lives(*one.worker->pid()));
}

// --- nonsense --------------------------------------------------------------------------------------------------------

/// An agent with the other end of its link as it is.
class told_agent {
 public:
  told_agent() {
    auto sockets = std::move(*make_link_sockets());
    driver_ = links_->open(std::move(sockets.first), link_side::driver);
    driver_->start({.on_message = [this](const codec::bytes& message) { heard.note(std::string(name_of(message))); },
                    .on_lost = [this](const error&) { heard.note("lost"); }});
    agent_.emplace(agent_options{.driver = links_->open(std::move(sockets.second), link_side::worker),
                                 .home = {.node = "n1", .address = ""},
                                 .network = nullptr});
  }
  template <class Message>
  void tell(const Message& message) {
    driver_->send(*codec::encode(message));
  }
  void tell_bytes(codec::bytes message) { driver_->send(std::move(message)); }
  void wait_until_sent() const {
    const auto give_up_at = in_time();
    while (driver_->queued_bytes() != 0 && std::chrono::steady_clock::now() < give_up_at) std::this_thread::yield();
    EXPECT_EQ(driver_->queued_bytes(), 0U);
  }
  error serve() {
    const auto served = agent_->serve();
    EXPECT_FALSE(served);
    EXPECT_FALSE(has_children());
    return served ? error{} : served.error();
  }

  noted_events heard;

 private:
  static std::string_view name_of(const codec::bytes& message) {
    const auto kind = codec::kind_of(message);
    return kind ? troupe::name_of(*kind) : "nonsense";
  }
  std::unique_ptr<link_loop> links_ = *link_loop::create({silence});
  std::shared_ptr<message_link> driver_;
  std::optional<agent> agent_;
};

TEST(agent_nonsense, of_the_driver_ends_agent_and_workers) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(start_worker{.rank = 0, .silence_ms = 10'000});
  one.tell_bytes(bytes_of("no message at all"));
  EXPECT_EQ(one.serve().code, error_code::wire_malformed);
}

TEST(agent_nonsense, messages_of_other_conversations_end_it) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(agent_ready{.pid = 7});
  EXPECT_EQ(one.serve().code, error_code::wire_unknown_kind);
}

TEST(agent_nonsense, a_worker_before_the_setup_ends_it) {
  told_agent one;
  one.tell(start_worker{.rank = 0, .silence_ms = 10'000});
  EXPECT_EQ(one.serve().code, error_code::wire_malformed);
}

TEST(agent_nonsense, a_second_setup_ends_it) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(probe_setup());
  EXPECT_EQ(one.serve().code, error_code::wire_malformed);
}

TEST(agent_nonsense, two_workers_of_one_rank_end_it) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(start_worker{.rank = 7, .silence_ms = 10'000});
  one.tell(start_worker{.rank = 7, .silence_ms = 10'000});
  EXPECT_EQ(one.serve().code, error_code::wire_malformed);
}

TEST(agent_nonsense, a_blob_that_never_came_ends_it) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(start_worker{.rank = 0, .silence_ms = 10'000});
  one.tell(hand_over_blobs{.rank = 0, .name = "cut", .blobs = {{.blob = 3, .page_of = {}}}});
  EXPECT_EQ(one.serve().code, error_code::wire_malformed);
}

TEST(agent_words, tell_telemetry_no_more_often_than_heartbeats) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(start_worker{.rank = 0, .silence_ms = 10'000});
  auto served = std::async(std::launch::async, [&] { return one.serve(); });
  const auto before = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i <= 100; ++i) {
    one.tell(worker_message{.rank = 0, .message = bytes_of("work page 0 " + std::to_string(i))});
    ASSERT_TRUE(one.heard.has_times("worker_message", i));
  }
  const auto heartbeats = (std::chrono::steady_clock::now() - before) / liveness{10'000ms}.heartbeat();
  EXPECT_LE(one.heard.count("worker_telemetry"), heartbeats + 2);
  one.tell(agent_ready{});  // ends it
  served.get();
}

TEST(agent_nonsense, workers_that_are_not_there_are_left_alone) {
  told_agent one;
  one.tell(probe_setup());
  one.tell(worker_message{.rank = 9, .message = {}});
  one.tell(kill_worker{.rank = 9});
  one.tell(hand_over_blobs{.rank = 9, .name = "cut", .blobs = {{.blob = 3, .page_of = {}}}});
  one.tell(drop_blob{.blob = 9});
  one.tell(stop_workers{.grace_ms = 0});
  one.tell(stop_workers{.grace_ms = 0});
  one.tell(agent_ready{});  // ends it
  EXPECT_EQ(one.serve().code, error_code::wire_unknown_kind);
  EXPECT_THAT(one.heard.first(3), ElementsAre("agent_ready", "workers_stopped", "workers_stopped"));
}

/// Of this process, in bytes.
std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::uint64_t pages = 0;
  status >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(agent_nonsense, an_agent_that_has_ended_keeps_nothing_of_what_it_is_told) {
  if (costs_more) GTEST_SKIP() << "sanitizers keep what was freed, or as much again";
  told_agent one;
  one.tell(agent_ready{});  // ends it
  EXPECT_EQ(one.serve().code, error_code::wire_unknown_kind);
  const std::uint64_t before = resident_bytes();
  const codec::bytes large(limits::wire_message_bytes_max, std::byte{1});  // given back to the system once it is freed
  for (int i = 0; i < 10; ++i) {
    one.tell_bytes(large);
    one.wait_until_sent();
  }
  EXPECT_LT(resident_bytes(), before + 400'000'000) << "640 MiB were said";
}

}  // namespace
}  // namespace troupe::testing
