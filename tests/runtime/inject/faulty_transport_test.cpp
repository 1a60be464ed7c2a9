// Goal: what a fault does to the bytes of an edge is noticed by the checks of the edge itself, whatever it is made of.
// Method: both ends in one process, over shared memory and over a connection; messages are sent until the end is told
// what it found.
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "../edge/shm/shm_test_support.hpp"
#include "injection_support.hpp"
#include "runtime/inject/cut_off_edges.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/transport/transport_table.hpp"

namespace troupe::testing {
namespace {

struct seen_end {
  void note(const error& why) {
    const std::lock_guard lock(mutex);
    cause = why;
    changed.notify_all();
  }
  std::optional<error> wait() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds{20}, [&] { return cause.has_value(); });
    return cause;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<error> cause;
};

class faulty_edge {
 public:
  faulty_edge(const char* kind, const std::string& text, transport_options options = {})
      : edges_(make_faulty_transport(std::move(*between_processes(kind).between([&] {
                                       options.codec = std::make_shared<const pattern_codec>();
                                       return options;
                                     }())),
                                     [one = trigger(text)](std::size_t channel) {
                                       return channel == 1 ? message_triggers{one} : message_triggers{};
                                     })),
        offer_(*edges_->offer({.slots = 8}, edge_reach::host)) {
    consumer = std::move(*edges_->open_consumer(site()));
    producer = std::move(*edges_->open_producer(site()));
  }
  /// As many as there are slots; each must come or must not. Behind the third, which some tests damage, the end may be
  /// lost already.
  void send(std::size_t bytes, std::uint64_t count = 8) {
    for (std::uint64_t i = 0; i < count; ++i) {
      activation message{{0, i}, {i, i + 1}, std::make_shared<pattern>(i, bytes), nullptr, nullptr};
      const send_status status = producer->try_send(message);
      if (i > 2 && status != send_status::sent) return;
      ASSERT_EQ(status, send_status::sent);
    }
  }
  /// How many come whole and in order until `enough`, or until the end is told something.
  std::uint64_t receive(std::size_t bytes, std::uint64_t enough = 8) {
    std::uint64_t count = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    for (bool is_told = false; count < enough && std::chrono::steady_clock::now() < until;) {
      if (auto message = consumer->try_receive()) {
        EXPECT_EQ(message->id.index, count);
        EXPECT_TRUE(is_pattern(message->tensors, count, bytes));
        ++count;
        continue;
      }
      if (is_told) break;  // what had arrived before was received
      const std::lock_guard lock(found->mutex);
      is_told = found->cause.has_value();
    }
    return count;
  }

  /// How many come now.
  std::uint64_t receive_now(std::size_t bytes) {
    std::uint64_t count = 0;
    while (auto message = consumer->try_receive()) EXPECT_TRUE(is_pattern(message->tensors, count++, bytes));
    return count;
  }
  bool gets_all_credits_back() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (producer->credits() < producer->slots() && std::chrono::steady_clock::now() < until) {
      static_cast<void>(consumer->try_receive());
    }
    return producer->credits() == producer->slots();
  }

  const std::shared_ptr<seen_end> found = std::make_shared<seen_end>();
  const std::shared_ptr<seen_end> lost_producer = std::make_shared<seen_end>();
  std::unique_ptr<edge_consumer> consumer;
  std::unique_ptr<edge_producer> producer;

 private:
  edge_site site() {
    const auto told = consumer ? lost_producer : found;
    edge_site made{.epoch = 1,
                   .channel = 1,
                   .shape = {.slots = 8, .producer_bell = &bell_, .consumer_bell = &bell_},
                   .offer = offer_,
                   .peer = {.node = {}, .address = {}, .number = edges_->contact()},
                   .peer_bell = std::shared_ptr<doorbell>(std::shared_ptr<void>(), &bell_)};
    made.on_lost = [told](const error& why) { told->note(why); };
    made.on_damaged = [told](const error& why) { told->note(why); };
    return made;
  }

  doorbell bell_;
  const std::shared_ptr<transport> edges_;
  const edge_offer offer_;
};

constexpr std::size_t small = 64;
constexpr std::size_t large = 300'000;

TEST(faulty_transport, a_flipped_bit_fails_the_checksum_of_a_connection) {
  for (const std::size_t bytes : {small, large}) {
    SCOPED_TRACE(bytes);
    faulty_edge edge("tcp", "corrupt:edge=a-b,at=msg3");
    edge.send(bytes);
    EXPECT_EQ(edge.receive(bytes), 2u);
    const auto cause = edge.found->wait();
    ASSERT_TRUE(cause);
    EXPECT_NE(cause->cause.find("checksum"), std::string::npos) << to_string(*cause);
    EXPECT_TRUE(edge.lost_producer->wait()) << "the connection is closed, and its other end hears of it";
  }
}

TEST(faulty_transport, a_cut_message_ends_a_connection) {
  for (const std::size_t bytes : {small, large}) {
    SCOPED_TRACE(bytes);
    faulty_edge edge("tcp", "truncate:edge=a-b,at=msg3");
    edge.send(bytes);
    EXPECT_EQ(edge.receive(bytes), 2u);
    ASSERT_TRUE(edge.found->wait());
    EXPECT_TRUE(edge.lost_producer->wait());
  }
}

TEST(faulty_transport, a_damaged_slot_is_found_by_its_header) {
  for (const char* text : {"corrupt:edge=a-b,at=msg3", "truncate:edge=a-b,at=msg3"}) {
    SCOPED_TRACE(text);
    faulty_edge edge("shm", text);
    edge.send(small);
    EXPECT_EQ(edge.receive(small), 2u);
    const auto cause = edge.found->wait();
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->code, error_code::wire_malformed);
  }
}

TEST(faulty_transport, a_flipped_bit_in_a_slot_fails_the_checksum) {
  for (const std::size_t bytes : {std::size_t{1}, small, large}) {
    SCOPED_TRACE(bytes);
    faulty_edge edge("shm", "corrupt:edge=a-b,at=msg3", {.payload_crc = true});
    edge.send(bytes);
    EXPECT_EQ(edge.receive(bytes), 2u);
    const auto cause = edge.found->wait();
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->code, error_code::wire_checksum);
    EXPECT_NE(cause->where.find("micro-batch 2"), std::string::npos) << to_string(*cause);
  }
}

/// The shortest that --worker-timeout may be.
const transport_options short_silence{.silence = std::chrono::seconds{1}};

bool is_silent_end(const std::optional<error>& lost) {
  return lost && lost->cause.find("silent for 1000 ms") != std::string::npos;
}

TEST(faulty_transport, a_connection_that_says_nothing_one_way_is_lost_by_its_silence) {
  faulty_edge forward("tcp", "half_open:edge=a-b,direction=forward,at=msg3", short_silence);
  forward.send(large);
  EXPECT_LE(forward.receive(large), 3u) << "what was read with the head of the third one";
  EXPECT_TRUE(is_silent_end(forward.found->wait())) << "nothing comes to the consumer";
  EXPECT_TRUE(forward.lost_producer->wait()) << "which hangs up";

  faulty_edge back("tcp", "half_open:edge=a-b,direction=back,at=msg3", short_silence);
  back.send(small);
  EXPECT_EQ(back.receive(small), 8u);
  EXPECT_TRUE(is_silent_end(back.lost_producer->wait())) << "nothing comes to the producer";
  EXPECT_TRUE(back.found->wait());
}

TEST(faulty_transport, a_silence_of_a_moment_costs_nothing_but_that) {
  for (const char* kind : {"shm", "tcp"}) {
    for (const char* direction : {"forward", "back"}) {
      SCOPED_TRACE(std::string(kind) + " " + direction);
      faulty_edge edge(kind, std::string("half_open:edge=a-b,at=msg2,for=0.05s,direction=") + direction);
      edge.send(small);
      EXPECT_EQ(edge.receive(small), 8u);
      for (int i = 0; i < 8; ++i) edge.consumer->release();
      EXPECT_TRUE(edge.gets_all_credits_back());
      EXPECT_FALSE(edge.found->cause);
    }
  }
}

TEST(faulty_transport, no_slot_goes_back_where_shared_memory_is_half_open) {
  faulty_edge forward("shm", "half_open:edge=a-b,direction=forward,at=msg3");
  forward.send(small, 4);
  EXPECT_LT(forward.receive_now(small), 4u);
  faulty_edge back("shm", "half_open:edge=a-b,direction=back,at=msg3");
  back.send(small, 8);
  EXPECT_EQ(back.receive(small), 8u);
  for (int i = 0; i < 8; ++i) back.consumer->release();
  EXPECT_EQ(back.producer->credits(), 0u);
}

TEST(faulty_transport, a_closed_connection_is_lost_at_both_ends) {
  for (const char* text : {"close:edge=a-b,at=msg3", "close:edge=a-b,at=msg3,direction=forward",
                           "close:edge=a-b,at=msg3,direction=back"}) {
    SCOPED_TRACE(text);
    faulty_edge edge("tcp", text);
    edge.send(small);
    for (const auto& end : {edge.found, edge.lost_producer}) {
      const auto lost = end->wait();
      ASSERT_TRUE(lost);
      EXPECT_EQ(lost->cause.find("silent"), std::string::npos) << "it is told, and waits for no time-out";
    }
    faulty_edge memory("shm", text);
    memory.send(small);
    EXPECT_EQ(memory.receive(small), 0u) << "all of it came at once, with the third";
    EXPECT_EQ(memory.found->wait()->code, error_code::peer_lost);
  }
}

TEST(faulty_transport, a_short_partition_delays_what_is_sent) {
  for (const char* kind : {"shm", "tcp"}) {
    SCOPED_TRACE(kind);
    faulty_edge edge(kind, "partition:edge=a-b,at=msg2,for=0.05s");
    edge.send(small);
    EXPECT_EQ(edge.receive(small), 8u);
    EXPECT_FALSE(edge.found->cause);
  }
}

TEST(faulty_transport, may_lose_ends_and_else_is_what_it_stands_before) {
  faulty_edge edge("shm", "drop:edge=a-b,at=msg1");
  edge.send(small, 1);
  EXPECT_EQ(edge.receive(small, 1), 0u);
  ASSERT_TRUE(edge.found->wait());
  EXPECT_EQ(edge.found->cause->code, error_code::peer_lost);
}

/// Keeps the faults of its last end.
class noting_transport final : public transport {
 public:
  std::uint64_t contact() const noexcept override { return 0; }
  bool may_be_contact(std::uint64_t) const noexcept override { return true; }
  bool loses_ends() const noexcept override { return false; }
  bool has_thread() const noexcept override { return true; }
  expected<edge_offer> offer(const edge_options&, edge_reach) override { return edge_offer{}; }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    faults = site.faults;
    return nullptr;
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    faults = site.faults;
    return nullptr;
  }
  std::shared_ptr<arrival_faults> faults;
};

TEST(faulty_transport, has_the_thread_of_what_it_stands_before) {
  const auto below = std::make_shared<noting_transport>();
  EXPECT_TRUE(make_faulty_transport(below, [](std::size_t) { return message_triggers{}; })->has_thread());
  EXPECT_TRUE(cut_off_edges(below, std::make_shared<engine_page>())->has_thread());
}

TEST(cut_off_edges, both_ends_are_silent_as_long_as_the_page_says) {
  const auto below = std::make_shared<noting_transport>();
  const auto page = std::make_shared<engine_page>();
  const auto edges = cut_off_edges(below, page);
  const auto expect_as_the_page_says = [&] {
    EXPECT_FALSE(below->faults->is_silenced(flow::in));
    EXPECT_FALSE(below->faults->is_silenced(flow::out));
    page->cut_off_until = (steady_now() + std::chrono::hours{1}).count();
    EXPECT_TRUE(below->faults->is_silenced(flow::in));
    EXPECT_TRUE(below->faults->is_silenced(flow::out));
    page->cut_off_until = steady_now().count();
    EXPECT_FALSE(below->faults->is_silenced(flow::in));
    EXPECT_FALSE(below->faults->is_silenced(flow::out));
  };
  ASSERT_TRUE(edges->open_producer({}));
  expect_as_the_page_says();
  ASSERT_TRUE(edges->open_consumer({}));
  expect_as_the_page_says();
}

}  // namespace
}  // namespace troupe::testing
