// Goal: untrusted peers, however many and fast, keep no peer of the run out, least of all one of another address.
// Method: sockets of several loopback addresses, and an endpoint with deadlines that no untrusted peer reaches.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/edge/tcp/handshake.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

class tcp_crowd : public ::testing::Test {
 protected:
  tcp_crowd() {
    tcp_endpoint_options options = test_options();
    options.on_refused = refused.put();
    endpoint = must_open(std::move(options));
  }
  std::unique_ptr<edge_consumer> accept(std::uint32_t edge, const std::string& from = {}) {
    tcp_edge_options options{{2, nullptr, nullptr, 1}, lost.put()};
    options.peer_address = from;
    auto accepted = endpoint->accept(key_of(edge), std::move(options));
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return std::move(*accepted);
  }
  /// As a worker's edge does, which tries again where it was closed for others because this machine was slow.
  bool reaches(edge_consumer& other, std::uint32_t edge) {
    const tcp_edge_options options{{2, nullptr, nullptr, 1}, lost.put()};
    joined.push_back(endpoint->connect_later("127.0.0.1", endpoint->port(), key_of(edge), options).value());
    activation message{{0, 0}, {0, 1}, nullptr, nullptr, nullptr};
    EXPECT_EQ(joined.back()->try_send(message), send_status::sent);
    return eventually([&] { return other.try_receive().has_value(); });
  }
  /// As a worker does, over a socket of the test's own.
  static void join(const raw_client& client, const edge_key& key, std::uint32_t slots) {
    edge_transcript said{key, slots, {1, 2}, {}};
    client.send(encode_head(make_hello(said)).view());
    said.listener = std::get<challenge_frame>(client.hear()).nonce;
    client.send(encode_head(proof_frame{prove(proof_of::caller, said)}).view());
  }

  error_box refused;
  error_box lost;
  std::unique_ptr<tcp_endpoint> endpoint;
  std::vector<std::unique_ptr<edge_producer>> joined;
};

/// Five times as many as there is room for; each end that joins is one of the run.
TEST_F(tcp_crowd, any_number_of_silent_untrusted_peers_keeps_no_worker_out) {
  const auto consumer = accept(1);
  const auto other = accept(2);
  std::vector<std::unique_ptr<raw_client>> crowd;
  for (std::size_t i = 0; i < 5 * limits::tcp_untrusted_peers_max; ++i) {
    crowd.push_back(std::make_unique<raw_client>(endpoint->port()));
    if (i % 2 == 0) crowd.back()->send("TRPE");
  }
  EXPECT_TRUE(reaches(*consumer, 1));
  EXPECT_EQ(crowd.front()->drain(), "") << "the oldest was not closed";
  const auto told = refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause,
              ::testing::AnyOf(::testing::HasSubstr("before others came"), ::testing::HasSubstr("too many wait")));
  EXPECT_TRUE(reaches(*other, 2));
  EXPECT_TRUE(eventually([&] { return endpoint->connections() <= limits::tcp_untrusted_peers_max + 4; }));
  EXPECT_EQ(lost.count(), 0u);
}

/// Nodes that join at the same time: however many others come, each has time for the round trips of its handshake.
TEST_F(tcp_crowd, a_peer_in_its_handshake_is_not_closed_for_others_before_it_is_idle) {
  const raw_client first(endpoint->port());
  first.send("TR");
  std::vector<std::unique_ptr<raw_client>> others;
  for (std::size_t i = 0; i < 2 * limits::tcp_untrusted_peers_max; ++i) {
    others.push_back(std::make_unique<raw_client>(endpoint->port()));
  }
  const auto spoke_at = std::chrono::steady_clock::now();
  first.send("PE");
  EXPECT_EQ(first.drain(), "");
  // the kernel counts in ticks of up to 10 ms
  EXPECT_GE(std::chrono::steady_clock::now() - spoke_at, limits::tcp_untrusted_idle_max - 20ms);
}

/// A node on a slow network has its time, however many come from elsewhere.
TEST_F(tcp_crowd, a_crowd_at_one_address_keeps_out_itself_alone) {
  const auto consumer = accept(1);
  const raw_client slow(endpoint->port(), "127.0.0.2");
  std::vector<std::unique_ptr<raw_client>> crowd;
  for (std::size_t i = 0; i < 10 * limits::tcp_untrusted_peers_max; ++i)
    crowd.push_back(std::make_unique<raw_client>(endpoint->port(), "127.0.0.3"));
  EXPECT_EQ(crowd.front()->drain(), "") << "the crowd's oldest was not closed";
  join(slow, key_of(1), 2);
  EXPECT_EQ(std::get<welcome_frame>(slow.hear()).slots, 2u);
}

TEST_F(tcp_crowd, a_crowd_at_one_address_leaves_room_for_others) {
  const auto consumer = accept(1);
  std::vector<std::unique_ptr<raw_client>> crowd;
  for (std::size_t i = 0; i < 2 * limits::tcp_untrusted_peers_max; ++i)
    crowd.push_back(std::make_unique<raw_client>(endpoint->port(), "127.0.0.3"));
  const raw_client other(endpoint->port(), "127.0.0.2");
  join(other, key_of(1), 2);
  EXPECT_EQ(std::get<welcome_frame>(other.hear()).slots, 2u);
  EXPECT_LE(endpoint->connections(), limits::tcp_untrusted_of_address_max + 1);
}

/// One connection each from so many addresses that all seats and places for those that wait are taken, and none of them
/// is ever idle: the next peer from an address that is not expected is turned away or waits long.
class tcp_crowd_of_addresses : public tcp_crowd {
 protected:
  tcp_crowd_of_addresses() {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string from = "127.77." + std::to_string(1 + i / 200) + "." + std::to_string(1 + i % 200);
      crowd.push_back(std::make_unique<raw_client>(endpoint->port(), from.c_str()));
    }
    talker = std::thread([this] { talk(); });
  }
  ~tcp_crowd_of_addresses() override {
    {
      const std::lock_guard lock{mutex};
      is_over = true;
    }
    over.notify_all();
    talker.join();
  }
  /// A byte of a hello at a time, for longer than an untrusted peer may have a seat.
  void talk() {
    const auto word = encode_head(make_hello({key_of(1), 2, {1, 2}, {}}));
    std::unique_lock lock{mutex};
    for (const std::byte& each : word.view()) {
      for (const auto& client : crowd) client->send(std::span(&each, 1));
      if (over.wait_for(lock, limits::tcp_untrusted_idle_max / 5, [&] { return is_over; })) return;
    }
  }
  static constexpr std::size_t count = limits::tcp_untrusted_peers_max + limits::tcp_waiting_peers_max + 50;

  std::vector<std::unique_ptr<raw_client>> crowd;
  std::mutex mutex;
  std::condition_variable over;
  bool is_over = false;
  std::thread talker;
};

TEST_F(tcp_crowd_of_addresses, keeps_no_peer_out_that_comes_from_where_an_edge_is_awaited_from) {
  const auto consumer = accept(1, "127.0.0.2");
  const raw_client node(endpoint->port(), "127.0.0.2");
  join(node, key_of(1), 2);
  EXPECT_EQ(std::get<welcome_frame>(node.hear()).slots, 2u);
}

TEST_F(tcp_crowd_of_addresses, is_as_much_in_the_way_of_itself_as_of_a_peer_that_nothing_is_known_of) {
  const auto consumer = accept(1);
  EXPECT_TRUE(reaches(*consumer, 1)) << "it goes on until there is room";
}

/// As fast as one thread can, while nodes come one after another. It ends before the machine has no ports left.
TEST_F(tcp_crowd, a_flood_from_one_address_keeps_no_other_out) {
  std::atomic<bool> is_over{false};
  std::thread flood([&] {
    std::vector<std::unique_ptr<raw_client>> crowd(3 * limits::tcp_untrusted_peers_max);
    for (std::size_t i = 0; !is_over && i < 10'000; ++i)
      crowd[i % crowd.size()] = std::make_unique<raw_client>(endpoint->port(), "127.0.0.3");
  });
  for (std::uint32_t edge = 1; edge <= 10; ++edge) {
    const auto consumer = accept(edge);
    const raw_client node(endpoint->port(), "127.0.0.2");
    join(node, key_of(edge), 2);
    EXPECT_EQ(std::get<welcome_frame>(node.hear()).slots, 2u);
  }
  is_over = true;
  flood.join();
}

}  // namespace
}  // namespace troupe::testing
