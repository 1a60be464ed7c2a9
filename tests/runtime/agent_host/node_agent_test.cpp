// Goal: whatever an agent says, or does not, a driver stays whole: it knows the node as ready, refused or lost, and
// each worker ends once. Method: an agent that says what the test says, also random bytes and changed messages.
#include "runtime/agent_host/node_agent.hpp"

#include <future>
#include <random>

#include <gmock/gmock.h>

#include "messages/codec/codec.hpp"
#include "runtime/agent_host/agent_host.hpp"
#include "runtime/agent_host/agent_worker.hpp"
#include "tests/messages/message_samples.hpp"
#include "tests/runtime/agent_host/noted_events.hpp"

namespace troupe::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr liveness times{10'000ms};

/// The agent's end of a link, and the node as the driver has it.
class scripted_node {
 public:
  scripted_node() {
    auto sockets = std::move(*make_link_sockets());
    node = std::make_shared<node_agent>(host_place{.node = "n1", .address = ""},
                                        links_->open(std::move(sockets.first), link_side::driver), log.log());
    agent_ = links_->open(std::move(sockets.second), link_side::worker);
    agent_->start({.on_message = [this](const codec::bytes& message) { heard.note(kind_in(message)); },
                   .on_lost = [this](const error&) { heard.note("lost"); }});
  }
  ~scripted_node() { links_.reset(); }
  scripted_node(const scripted_node&) = delete;
  scripted_node& operator=(const scripted_node&) = delete;

  void be_ready() {
    node->set_up({});
    say(agent_ready{.pid = 1});
    ASSERT_TRUE(node->wait_until_ready(in_time()));
  }
  template <class Message>
  void say(const Message& message) {
    agent_->send(*codec::encode(message));
  }
  void say_bytes(codec::bytes message) { agent_->send(std::move(message)); }
  hosted_worker_ptr start(const std::shared_ptr<worker_listener>& news) {
    agent_host host({.agent = node, .silence = 10s, .log = log.log(), .next_rank = [this] { return next_rank_++; }});
    return *host.start(news);
  }
  /// The thread of the agent's words has handled them all.
  void settle() {
    const auto news = std::make_shared<noted_worker>();
    const auto last = start(news);
    say(worker_ended{.rank = last->rank(), .last_lines = {}});
    EXPECT_TRUE(news->end());
  }

  noted_events log;
  noted_events heard;
  std::shared_ptr<node_agent> node;

 private:
  static std::string kind_in(const codec::bytes& message) {
    const auto kind = codec::kind_of(message);
    return kind ? std::string(name_of(*kind)) : "nonsense";
  }

  std::unique_ptr<link_loop> links_ = *link_loop::create(times);
  std::shared_ptr<message_link> agent_;
  std::uint32_t next_rank_ = 0;
};

worker_ended ended_with(const hosted_worker_ptr& worker, std::uint32_t status) {
  return {.rank = worker->rank(), .pid = 42, .kind = 0, .value = status, .last_lines = {}};
}

TEST(node_agent, is_ready_when_its_agent_says_so) {
  scripted_node n1;
  n1.node->set_up({});
  EXPECT_THAT(n1.heard.first(1), ElementsAre("agent_setup"));
  const auto late = n1.node->wait_until_ready(std::chrono::steady_clock::now());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::node_lost);
  EXPECT_FALSE(n1.node->loss()) << "it may still come";
  n1.say(agent_ready{.pid = 1});
  EXPECT_TRUE(n1.node->wait_until_ready(in_time()));
}

TEST(node_agent, that_refuses_is_lost_with_its_own_words) {
  scripted_node n1;
  n1.node->set_up({});
  n1.say(agent_refusal{{error_code::worker_mismatch, "node n1, /program", "it is another", "copy it"}});
  const auto ready = n1.node->wait_until_ready(in_time());
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, error_code::worker_mismatch);
  EXPECT_EQ(ready.error().where, "node n1, /program");
  EXPECT_THAT(n1.heard.first(2), ElementsAre("agent_setup", "lost")) << "its agent can end";
}

TEST(node_agent, worker_is_told_what_is_said_of_it_and_its_end_once) {
  scripted_node n1;
  n1.be_ready();
  const auto news = std::make_shared<noted_worker>();
  const auto worker = n1.start(news);
  n1.say(worker_started{.rank = worker->rank(), .pid = 41});
  n1.say(worker_message{.rank = worker->rank(), .message = bytes_of("hello")});
  n1.say(worker_link_lost{.rank = worker->rank()});
  n1.say(ended_with(worker, 3));
  n1.say(worker_message{.rank = worker->rank(), .message = bytes_of("late")});
  n1.say(worker_link_lost{.rank = worker->rank()});
  n1.say(ended_with(worker, 4));
  n1.settle();
  EXPECT_THAT(news->events.now(), ElementsAre("said hello", "link lost"));
  EXPECT_EQ(news->end()->value, 3);
  EXPECT_EQ(worker->pid(), 42U);
}

TEST(node_agent, worker_whose_number_its_agent_does_not_know_has_none) {
  scripted_node n1;
  n1.be_ready();
  const auto worker = n1.start(std::make_shared<noted_worker>());
  n1.say(worker_started{.rank = worker->rank(), .pid = 0});
  n1.settle();
  EXPECT_FALSE(worker->pid());
  EXPECT_EQ(worker->place(), "process unknown on n1");
}

TEST(node_agent, words_of_workers_that_are_not_there_are_left_alone) {
  scripted_node n1;
  n1.be_ready();
  n1.say(worker_started{.rank = 77, .pid = 1});
  n1.say(worker_message{.rank = 77, .message = bytes_of("hello")});
  worker_telemetry telemetry;
  telemetry.rank = 77;
  n1.say(telemetry);
  n1.say(worker_link_lost{.rank = 77});
  n1.say(worker_ended{.rank = 77, .last_lines = {}});
  n1.say(workers_stopped{.all_ended = 1});
  n1.say(agent_ready{.pid = 2});
  n1.settle();
  EXPECT_FALSE(n1.node->loss());
}

TEST(node_agent, that_is_to_be_taken_away_stays_and_tells_so_each_time) {
  scripted_node n1;
  int asked = 0;
  n1.node->on_end_asked([&] { ++asked; });
  n1.be_ready();
  n1.say(end_asked{.signal = 15});
  n1.say(end_asked{.signal = 15});
  n1.settle();
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(n1.node->loss());
}

TEST(node_agent, logs_what_is_said_of_the_node_under_its_name) {
  scripted_node n1;
  n1.be_ready();
  n1.say(agent_log{.rank = std::nullopt, .level = 2, .text = "memory is short"});
  n1.say(agent_log{.rank = 77, .level = 99, .text = "of no worker"});
  n1.settle();
  EXPECT_THAT(n1.log.now(), Contains("warning: node n1: memory is short"));
  EXPECT_THAT(n1.log.now(), Contains("[rank 77] node n1: of no worker"));
}

TEST(node_agent, that_ends_a_worker_as_no_process_ends_is_lost) {
  scripted_node n1;
  n1.be_ready();
  const auto news = std::make_shared<noted_worker>();
  const auto worker = n1.start(news);
  n1.say(worker_ended{.rank = worker->rank(), .kind = 9, .last_lines = {}});
  EXPECT_EQ(news->end()->kind, exit_kind::lost);
  EXPECT_TRUE(n1.node->loss());
}

TEST(node_agent, that_says_nonsense_is_lost_and_hears_of_it) {
  scripted_node n1;
  n1.be_ready();
  const auto news = std::make_shared<noted_worker>();
  const auto worker = n1.start(news);
  n1.say_bytes(bytes_of("no message at all"));
  n1.say(worker_message{.rank = worker->rank(), .message = bytes_of("after nonsense")});
  const auto end = news->end();
  ASSERT_TRUE(end);
  EXPECT_THAT(end->note, HasSubstr("it sent nonsense"));
  EXPECT_THAT(news->events.now(), ::testing::IsEmpty());
  ASSERT_TRUE(n1.node->loss());
  EXPECT_EQ(n1.node->loss()->code, error_code::node_lost);
  EXPECT_THAT(n1.heard.first(3), ElementsAre("agent_setup", "start_worker", "lost"));
}

/// Hears its first word until it is let go.
struct busy_listener final : worker_listener {
  void said(const hosted_worker_ptr&, codec::bytes) override {
    hears.set_value();
    let_go.get_future().wait();
  }
  void link_lost(const hosted_worker_ptr&) override {}
  void exited(const hosted_worker_ptr&, const exit_report&) override { events.note("ended"); }
  noted_events events;
  std::promise<void> hears;
  std::promise<void> let_go;
};

TEST(node_agent, given_up_tells_the_end_of_a_worker_after_what_it_says) {
  scripted_node n1;
  n1.be_ready();
  const auto news = std::make_shared<busy_listener>();
  const auto worker = n1.start(news);
  n1.say(worker_message{.rank = worker->rank(), .message = bytes_of("hello")});
  ASSERT_EQ(news->hears.get_future().wait_for(noted_events::patience), std::future_status::ready);
  n1.node->lose({error_code::node_lost, {}, "the driver says so", {}});
  EXPECT_TRUE(n1.node->loss());
  EXPECT_EQ(news->events.count("ended"), 0) << "while it is heard";
  news->let_go.set_value();
  EXPECT_THAT(news->events.first(1), ElementsAre("ended"));
}

// --- stop ------------------------------------------------------------------------------------------------------------

TEST(node_agent, stop_waits_for_its_own_answer) {
  scripted_node n1;
  n1.be_ready();
  EXPECT_FALSE(n1.node->stop(std::chrono::steady_clock::now(), 0ms)) << "no answer in time";
  const auto news = std::make_shared<noted_worker>();
  const auto worker = n1.start(news);  // of the next run
  n1.say(workers_stopped{.all_ended = 1});
  n1.settle();
  EXPECT_FALSE(n1.node->stop(std::chrono::steady_clock::now(), 0ms)) << "the answer was the first one's";
  auto stopped = std::async(std::launch::async, [&] { return n1.node->stop(in_time(), 0ms); });
  ASSERT_TRUE(n1.heard.has_times("stop_workers", 3));
  n1.say(workers_stopped{.all_ended = 0});
  n1.say(workers_stopped{.all_ended = 1});
  EXPECT_TRUE(stopped.get());
}

TEST(node_agent, stop_knows_that_some_live_on) {
  scripted_node n1;
  n1.be_ready();
  auto stopped = std::async(std::launch::async, [&] { return n1.node->stop(in_time(), 0ms); });
  n1.heard.first(2);
  n1.say(workers_stopped{.all_ended = 0});
  EXPECT_FALSE(stopped.get());
}

TEST(node_agent, stop_ends_with_the_loss_of_the_node) {
  scripted_node n1;
  n1.be_ready();
  auto stopped = std::async(std::launch::async, [&] { return n1.node->stop(in_time(), 0ms); });
  n1.heard.first(2);
  n1.say_bytes(bytes_of("nonsense"));
  EXPECT_TRUE(stopped.get());
}

// --- blobs -----------------------------------------------------------------------------------------------------------

blob large_blob() {
  return *blob::make("test", 2 * limits::blob_bytes_on_way_max,
                     [](std::span<std::byte> place) { std::ranges::fill(place, std::byte{1}); });
}

TEST(node_agent, sends_no_more_than_its_agent_has_taken) {
  scripted_node n1;
  n1.be_ready();
  const auto worker = n1.start(std::make_shared<noted_worker>());
  const blob large = large_blob();
  constexpr std::size_t parts = 2 * limits::blob_bytes_on_way_max / limits::blob_part_bytes;
  auto given = std::async(std::launch::async, [&] { return worker->hand_over("large", {&large, 1}); });
  ASSERT_TRUE(n1.heard.has("blob_part"));
  // setup, start, the size, and half of the content
  n1.heard.first(3 + parts / 2);
  EXPECT_EQ(given.wait_for(200ms), std::future_status::timeout) << "it waits for its agent";
  EXPECT_LE(n1.heard.now().size(), 3 + parts / 2);
  for (std::size_t i = 1; i <= parts; ++i) {
    ASSERT_TRUE(n1.heard.has_times("blob_part", i + 1));
    n1.say(blob_part_taken{.bytes = limits::blob_part_bytes});
  }
  EXPECT_TRUE(given.get());
  n1.heard.first(3 + parts + 1);
  EXPECT_EQ(n1.heard.count("hand_over_blobs"), 1);
}

TEST(node_agent, lost_while_it_takes_a_blob_is_told_to_who_hands_it_over) {
  scripted_node n1;
  n1.be_ready();
  const auto worker = n1.start(std::make_shared<noted_worker>());
  const blob large = large_blob();
  auto given = std::async(std::launch::async, [&] { return worker->hand_over("large", {&large, 1}); });
  ASSERT_TRUE(n1.heard.has("blob_part"));
  n1.say_bytes(bytes_of("nonsense"));
  const auto done = given.get();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::node_lost);
}

TEST(node_agent, that_has_taken_more_than_was_sent_is_lost) {
  scripted_node n1;
  n1.be_ready();
  const auto news = std::make_shared<noted_worker>();
  const auto worker = n1.start(news);
  n1.say(blob_part_taken{.bytes = 1});
  EXPECT_TRUE(news->end());
  EXPECT_TRUE(n1.node->loss());
}

// --- hostile agents --------------------------------------------------------------------------------------------------

/// Some message of an agent, with ranks that there are.
codec::bytes some_message(sample_maker& make) {
  const auto rank = static_cast<std::uint32_t>(make.below(4));
  const auto of_rank = [&](auto message) {
    message.rank = rank;
    return *codec::encode(message);
  };
  switch (make.below(10)) {
    case 0:
      return of_rank(make.make<worker_started>());
    case 1:
      return of_rank(make.make<worker_message>());
    case 2:
      return of_rank(make.make<worker_telemetry>());
    case 3:
      return of_rank(make.make<worker_link_lost>());
    case 4:
      return of_rank(make.make<agent_log>());
    case 5:
      return of_rank(make.make<worker_ended>());
    case 6:
      return *codec::encode(make.make<workers_stopped>());
    case 7:
      return *codec::encode(make.make<agent_ready>());
    case 8:
      return *codec::encode(blob_part_taken{.bytes = 0});
    default:
      return codec::bytes(make.below(40), make.byte());
  }
}

/// Now and then a bit is flipped, or the end is missing.
codec::bytes changed_word(codec::bytes message, sample_maker& make) {
  if (message.empty()) return message;
  if (make.below(3) == 0) message[make.below(message.size())] ^= static_cast<std::byte>(1u << make.below(8));
  if (make.below(10) == 0) message.resize(make.below(message.size()));
  return message;
}

TEST(node_agent, of_random_words_harms_nothing_and_its_workers_end_once) {
  sample_maker make(18);
  for (int round = 0; round < 300; ++round) {
    scripted_node n1;
    n1.be_ready();
    std::vector<std::shared_ptr<noted_worker>> some;
    for (int i = 0; i < 3; ++i) {
      some.push_back(std::make_shared<noted_worker>());
      static_cast<void>(n1.start(some.back()));
    }
    for (int i = 0; i < 20; ++i) n1.say_bytes(changed_word(some_message(make), make));
    n1.say_bytes(bytes_of("nonsense"));
    for (const auto& each : some) EXPECT_TRUE(each->end());
    EXPECT_TRUE(n1.node->loss());
  }
}

}  // namespace
}  // namespace troupe::testing
