// Goal: what comes with peers that are no peers, leave, freeze or damage what they send. Method: sockets that say what
// a test wants, and two processes. Nothing waits for time but for deadlines of some hundred milliseconds.
#include <array>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "runtime/edge/tcp/handshake.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

activation message(std::uint64_t index, std::size_t padding = 0) {
  return {{0, index}, {index, index + 1}, std::make_shared<number_payload>(index, padding), nullptr, nullptr};
}

class tcp_peer : public ::testing::Test {
 protected:
  tcp_peer() {
    tcp_endpoint_options options = test_options();
    options.handshake_timeout = 300ms;
    options.keep_alive = 50ms;
    options.silence_timeout = 300ms;
    options.on_refused = refused.put();
    endpoint = must_open(std::move(options));
  }
  std::unique_ptr<edge_consumer> accept(std::uint32_t edge, std::uint32_t slots = 2, epoch_number epoch = 1) {
    auto accepted = endpoint->accept(key_of(edge, epoch), {{slots, nullptr, nullptr, 1}, lost.put()});
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return std::move(*accepted);
  }
  expected<std::unique_ptr<edge_producer>> connect(const edge_key& key, std::uint32_t slots = 2) {
    return endpoint->connect("127.0.0.1", endpoint->port(), key, {{slots, nullptr, nullptr, 1}, lost.put()});
  }
  std::unique_ptr<edge_producer> must_connect(std::uint32_t edge, std::uint32_t slots = 2) {
    auto connected = connect(key_of(edge), slots);
    EXPECT_TRUE(connected) << to_string(connected.error());
    return std::move(*connected);
  }
  static bool say(const raw_client& client, const frame& value) { return client.send(encode_head(value).view()); }
  /// As a worker does, over a socket of the test's own.
  static void join(const raw_client& client, const edge_key& key, std::uint32_t slots) {
    edge_transcript said{key, slots, {1, 2}, {}};
    say(client, make_hello(said));
    said.listener = std::get<challenge_frame>(client.hear()).nonce;
    say(client, proof_frame{prove(proof_of::caller, said)});
  }
  void expect_refused(const char* why) {
    const auto told = refused.take();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code, error_code::wire_handshake);
    EXPECT_THAT(told->cause, HasSubstr(why));
  }
  void expect_lost(const char* why) {
    const auto told = lost.take();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code, error_code::peer_lost);
    EXPECT_THAT(told->where, HasSubstr("edge "));
    EXPECT_THAT(told->cause, HasSubstr(why));
  }

  error_box refused;
  error_box lost;
  std::unique_ptr<tcp_endpoint> endpoint;
};

TEST_F(tcp_peer, untrusted_peers_get_nothing_and_are_dropped) {
  const auto waiting = accept(1);
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: troupe\r\n\r\n"), std::string(100'000, 'x'), std::string(5000, '\0')}) {
    const raw_client client(endpoint->port());
    client.send(text);
    EXPECT_EQ(client.drain(), "");
    expect_refused("E0702");
  }
  const raw_client silent(endpoint->port());
  EXPECT_EQ(silent.drain(), "") << "closed at the deadline";
  expect_refused("no handshake within 300 ms");
  const raw_client partial(endpoint->port());
  partial.send("TRPE");
  EXPECT_EQ(partial.drain(), "");
  expect_refused("no handshake within 300 ms");
  const auto producer = must_connect(1);
  EXPECT_TRUE(eventually([&] { return endpoint->connections() == 2; }));
  EXPECT_EQ(lost.count(), 0u);
}

TEST_F(tcp_peer, only_the_right_hello_is_let_in) {
  const auto waiting = accept(3, 4, 2);
  const auto try_first = [&](const frame& first, const char* why) {
    const raw_client client(endpoint->port());
    say(client, first);
    EXPECT_EQ(client.drain(), "");
    expect_refused(why);
  };
  const auto try_hello = [&](const edge_key& key, std::uint32_t slots, const char* why) {
    try_first(make_hello({key, slots, {1, 2}, {}}), why);
  };
  edge_key key = key_of(3, 2);
  key.run[1] ^= 1;
  try_hello(key, 4, "secret");
  try_hello(key_of(4, 2), 4, "no such edge");
  try_hello(key_of(3, 1), 4, "stale epoch 1");
  try_hello(key_of(3, 3), 4, "epoch to come");
  try_hello(key_of(3, 2), 5, "slots 5");
  key = key_of(3, 2);
  key.incarnation = 9;
  try_hello(key, 4, "incarnation 9");
  auto changed = make_hello({key_of(3, 2), 4, {1, 2}, {}});
  changed.proof[3] ^= 1;
  try_first(changed, "secret");
  changed = make_hello({key_of(3, 1), 4, {1, 2}, {}});
  changed.key.epoch = 2;
  try_first(changed, "secret");
  try_first(ping_frame{}, "no hello");
  try_first(activation_frame{{0, 0}, {0, 1}, 2, {}, 8, {}, false}, "E0701");
  const raw_client right(endpoint->port());
  join(right, key_of(3, 2), 4);
  EXPECT_EQ(std::get<welcome_frame>(right.hear()).slots, 4u);
  try_hello(key_of(3, 2), 4, "already connected");
}

/// A hello that was seen on another connection is as right as it was there.
TEST_F(tcp_peer, a_hello_said_again_is_challenged_and_no_more) {
  const auto waiting = accept(1);
  for (const bool with_old_proof : {false, true}) {
    edge_transcript said{key_of(1), 2, {1, 2}, {}};
    const raw_client client(endpoint->port());
    say(client, make_hello(said));
    const auto challenge = std::get<challenge_frame>(client.hear());
    said.listener = with_old_proof ? edge_nonce{7, 8} : challenge.nonce;
    EXPECT_EQ(challenge.proof != prove(proof_of::listener, said), with_old_proof);
    say(client,
        with_old_proof ? frame{proof_frame{prove(proof_of::caller, said)}} : frame{proof_frame{challenge.proof}});
    EXPECT_EQ(client.drain(), "");
    expect_refused("another connection");
  }
  EXPECT_TRUE(connect(key_of(1)));
}

/// A program that has taken the port of a worker that is gone.
TEST_F(tcp_peer, a_listener_that_does_not_know_the_secret_gets_neither_it_nor_an_activation) {
  const listening_socket listener;
  std::string heard;
  std::thread impostor([&] {
    const raw_client caller(listener.accept());
    const auto hello = std::get<hello_frame>(caller.hear());
    EXPECT_EQ(hello.key.run, edge_secret{});
    say(caller, challenge_frame{{5, 6}, hello.proof});
    heard = caller.drain();
  });
  const auto got = endpoint->connect("127.0.0.1", listener.port(), key_of(1), {{2, nullptr, nullptr, 1}, lost.put()});
  impostor.join();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
  EXPECT_THAT(got.error().cause, HasSubstr("another program listens there"));
  EXPECT_EQ(heard, "");
}

TEST_F(tcp_peer, a_stale_epoch_is_refused_at_both_ends) {
  auto old = accept(1, 2, 1);
  const auto fresh = accept(1, 2, 2);
  expect_lost("newer epoch");
  const auto refused_here = connect(key_of(1, 1));
  ASSERT_FALSE(refused_here);
  EXPECT_EQ(refused_here.error().code, error_code::wire_handshake);
  expect_refused("stale epoch");
  EXPECT_FALSE(endpoint->accept(key_of(1, 1), {}));
  EXPECT_TRUE(connect(key_of(1, 2)));
}

TEST_F(tcp_peer, plain_text_does_not_leave_the_machine) {
  EXPECT_EQ(endpoint->connect("192.0.2.1", 9, key_of(1), {}).error().code, error_code::config_bad_value);
  EXPECT_EQ(endpoint->connect("localhost", 9, key_of(1), {}).error().code, error_code::config_bad_value);
  tcp_endpoint_options open_to_all = test_options();
  open_to_all.address = "0.0.0.0";
  EXPECT_EQ(tcp_endpoint::open(std::move(open_to_all)).error().code, error_code::config_bad_value);
}

TEST_F(tcp_peer, nobody_there_is_an_error_of_connect) {
  std::uint16_t closed_port = 0;
  { closed_port = must_open(test_options())->port(); }
  const auto got = endpoint->connect("127.0.0.1", closed_port, key_of(1), {});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::peer_lost);
}

/// An untrusted peer that was let in: what it does then makes the consumer silent.
class tcp_damage : public tcp_peer {
 protected:
  void expect_lost_after(const std::vector<frame>& said, const char* why, const std::string& payload = {}) {
    const auto consumer = accept(next_);
    const raw_client client(endpoint->port());
    join(client, key_of(next_++), 2);
    for (const frame& each : said) {
      say(client, each);
      if (std::holds_alternative<activation_frame>(each)) client.send(payload);
    }
    client.drain();
    expect_lost(why);
    EXPECT_FALSE(consumer->exhausted());
    while (consumer->try_receive()) {
    }
  }
  static activation_frame numbered(std::uint64_t index) { return {{0, index}, {0, 4}, 1, {}, 8, {}, false}; }

 private:
  std::uint32_t next_ = 10;
};

TEST_F(tcp_damage, makes_the_end_silent_and_names_the_edge) {
  const std::string eight(8, 'a');
  expect_lost_after({credit_frame{1}}, "only a consumer sends");
  expect_lost_after({make_hello({key_of(1), 2, {}, {}})}, "only a consumer sends");
  expect_lost_after({numbered(0), numbered(1), numbered(2)}, "without credit", eight + std::string(56, '\0'));
  expect_lost_after({close_frame{1}}, "a close after 1 activations, of which 0 arrived");
  auto damaged = numbered(0);
  damaged.has_checksum = true;
  expect_lost_after({damaged}, "E0706", eight + std::string(56 + payload_checksum_bytes, '\0'));
  auto short_payload = numbered(0);
  short_payload.tensor_bytes = 3;
  expect_lost_after({short_payload}, "E0702", std::string(64, '\0'));
  auto other_epoch = numbered(0);
  other_epoch.epoch = 0;
  expect_lost_after({other_epoch}, "epoch 0", eight + std::string(56, '\0'));
  auto rows = numbered(0);
  rows.rows = 2;
  expect_lost_after({rows}, "row 0", std::string(72, '\0'));
}

TEST_F(tcp_peer, a_silent_peer_is_lost_after_the_time_out) {
  const auto consumer = accept(1);
  const raw_client client(endpoint->port());
  join(client, key_of(1), 2);
  expect_lost("silent for 300 ms");
  EXPECT_FALSE(consumer->try_receive());
  EXPECT_FALSE(consumer->exhausted());
}

TEST_F(tcp_peer, a_peer_that_only_pings_is_not_lost) {
  const auto consumer = accept(1);
  const auto producer = must_connect(1);
  const auto until = std::chrono::steady_clock::now() + 600ms;
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > until; }));
  EXPECT_EQ(lost.count(), 0u);
}

TEST_F(tcp_peer, who_abandons_is_lost_and_the_end_silent) {
  const auto consumer = accept(1);
  const auto producer = must_connect(1);
  auto first = message(0);
  ASSERT_EQ(producer->try_send(first), send_status::sent);
  ASSERT_TRUE(eventually([&] { return consumer->try_receive().has_value(); }));
  consumer->abandon();
  expect_lost("connection closed");
  auto next = message(1);
  EXPECT_EQ(producer->credits(), 0u);
  EXPECT_EQ(producer->try_send(next), send_status::no_credit);
  EXPECT_NE(next.tensors, nullptr);
  EXPECT_EQ(lost.count(), 1u);
}

TEST_F(tcp_peer, an_accepted_edge_that_nobody_connects_to_is_lost) {
  tcp_endpoint_options options = test_options();
  options.attach_timeout = 50ms;
  const auto impatient = must_open(std::move(options));
  const auto consumer = impatient->accept(key_of(1), {{}, lost.put()});
  expect_lost("no producer has connected");
}

TEST_F(tcp_peer, everything_of_an_activation_arrives) {
  const auto consumer = accept(1);
  const auto producer = must_connect(1);
  activation sent{{3, 4},
                  {100, 110},
                  std::make_shared<number_payload>(6, 70'000),
                  std::make_shared<number_payload>(7, 3),
                  std::make_shared<const row_set>(row_set{0, 4, 9})};
  activation empty_part{{3, 5}, {110, 120}, nullptr, nullptr, std::make_shared<const row_set>()};
  ASSERT_EQ(producer->try_send(sent), send_status::sent);
  ASSERT_EQ(producer->try_send(empty_part), send_status::sent);
  std::optional<activation> got;
  ASSERT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
  EXPECT_EQ(*got->rows, (row_set{0, 4, 9}));
  const auto& tensors = dynamic_cast<const viewed_payload&>(*got->tensors);
  EXPECT_EQ(tensors.value(), 6u);
  ASSERT_EQ(tensors.bytes.size(), 70'008u);
  for (std::size_t i = 8; i < tensors.bytes.size(); ++i) ASSERT_EQ(tensors.bytes[i], static_cast<std::byte>(i & 0xffu));
  EXPECT_EQ(dynamic_cast<const viewed_payload&>(*got->labels).value(), 7u);
  ASSERT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
  EXPECT_TRUE(got->is_empty_part());
  EXPECT_EQ(got->tensors, nullptr);
  EXPECT_EQ(got->labels, nullptr);
}

/// Passes bytes on one by one, both ways, until either side closes.
void trickle(const raw_client& left, const raw_client& right) {
  std::array<pollfd, 2> ends = {pollfd{left.fd(), POLLIN, 0}, pollfd{right.fd(), POLLIN, 0}};
  std::array<std::byte, 1> one{};
  while (::poll(ends.data(), ends.size(), 20'000) > 0) {
    if (ends[0].revents != 0 && (left.receive(one) == 0 || !right.send(one))) break;
    if (ends[1].revents != 0 && (right.receive(one) == 0 || !left.send(one))) break;
  }
  ::shutdown(left.fd(), SHUT_RDWR);
  ::shutdown(right.fd(), SHUT_RDWR);
}

TEST_F(tcp_peer, bytes_may_come_one_by_one) {
  const listening_socket listener;
  std::thread proxy([&] {
    const raw_client left(listener.accept());
    const raw_client right(endpoint->port());
    trickle(left, right);
  });
  {
    const auto consumer = accept(1);
    auto producer = endpoint->connect("127.0.0.1", listener.port(), key_of(1), {{2, nullptr, nullptr, 1}, lost.put()});
    ASSERT_TRUE(producer) << to_string(producer.error());
    for (std::uint64_t index = 0; index < 20; ++index) {
      auto next = message(index, 100);
      ASSERT_TRUE(eventually([&] { return (*producer)->try_send(next) == send_status::sent; }));
      std::optional<activation> got;
      ASSERT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
      EXPECT_EQ(dynamic_cast<const viewed_payload&>(*got->tensors).value(), index);
      consumer->release();
    }
    (*producer)->close();
    EXPECT_TRUE(eventually([&] { return consumer->exhausted(); }));
  }
  proxy.join();
  EXPECT_EQ(lost.count(), 0u);
}

}  // namespace
}  // namespace troupe::testing
