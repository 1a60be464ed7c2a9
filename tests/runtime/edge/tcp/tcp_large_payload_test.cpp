// Goal: payloads of many chunks arrive whole, with TLS and without, and a reader that is woken seldom notices a slow
// peer all the same. Method: payloads larger than socket buffers over two endpoints; a socket that sends a few bytes
// at a time.
#include <gtest/gtest.h>

#include "runtime/edge/tcp/handshake.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

/// Of many chunks, and of one that is larger than a socket's buffer is at first.
constexpr std::size_t large_bytes = 3 * limits::tcp_chunk_bytes + 12'345;
constexpr std::size_t chunk_bytes = limits::tcp_chunk_bytes - 1000;

/// number_codec's bytes.
bool is_right(const payload& value, std::uint64_t number, std::size_t padding) {
  const auto& viewed = dynamic_cast<const viewed_payload&>(value);
  if (viewed.bytes.size() != 8 + padding || viewed.value() != number) return false;
  for (std::size_t i = 8; i < viewed.bytes.size(); ++i) {
    if (viewed.bytes[i] != static_cast<std::byte>(i & 0xffu)) return false;
  }
  return true;
}

struct large_case {
  bool with_tls = false;
  bool by_caller = false;
  std::size_t padding = 0;
};

class tcp_large_payload : public ::testing::TestWithParam<large_case> {};

TEST_P(tcp_large_payload, arrives_whole_several_at_a_time) {
  constexpr std::uint64_t messages = 8;
  const large_case given = GetParam();
  const auto endpoint = must_open(test_options(given.with_tls));
  auto consumer = endpoint->accept(key_of(1), {{2, nullptr, nullptr, 1}, {}}).value();
  auto producer = endpoint->connect("127.0.0.1", endpoint->port(), key_of(1), {{2, nullptr, nullptr, 1}, {}}).value();
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  EXPECT_TRUE(eventually([&] {
    activation message{{0, sent}, {0, 1}, std::make_shared<number_payload>(sent, given.padding), nullptr, nullptr};
    const auto send = [&] { return given.by_caller ? producer->try_send_now(message) : producer->try_send(message); };
    if (sent < messages && send() == send_status::sent) ++sent;
    if (const auto got = consumer->try_receive()) {
      EXPECT_TRUE(is_right(*got->tensors, received, given.padding)) << "message " << received;
      ++received;
      consumer->release();
    }
    return received == messages;
  }));
}

INSTANTIATE_TEST_SUITE_P(any, tcp_large_payload,
                         ::testing::Values(large_case{false, false, large_bytes}, large_case{true, false, large_bytes},
                                           large_case{false, true, large_bytes}, large_case{true, true, large_bytes},
                                           large_case{false, true, chunk_bytes}, large_case{true, true, chunk_bytes}));

/// Far below tcp_wake_bytes within the time of silence.
TEST(tcp_slow_payload, does_not_count_as_silence) {
  tcp_endpoint_options options = test_options();
  options.keep_alive = 50ms;
  options.silence_timeout = 400ms;
  const auto endpoint = must_open(std::move(options));
  error_box lost;
  const auto arrived = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto consumer =
      endpoint->accept(key_of(1), {.edge = {2, nullptr, nullptr, 1}, .on_lost = lost.put(), .arrived_bytes = arrived})
          .value();
  const raw_client client(endpoint->port());
  edge_transcript said{key_of(1), 2, {1, 2}, {}};
  client.send(encode_head(make_hello(said)).view());
  said.listener = std::get<challenge_frame>(client.hear()).nonce;
  client.send(encode_head(proof_frame{prove(proof_of::caller, said)}).view());
  client.send(encode_head(activation_frame{{0, 0}, {0, 4}, 1, {}, 4 * limits::tcp_wake_bytes, {}, false}).view());
  const auto begin = std::chrono::steady_clock::now();
  auto next = begin;
  std::uint64_t sent = 0;
  EXPECT_TRUE(eventually([&] {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next && client.send(std::string(100, 'x'))) {
      next = now + 20ms;
      sent += 100;
    }
    return now > begin + 1200ms;
  }));
  EXPECT_TRUE(eventually([&] { return arrived->load() >= sent; })) << arrived->load() << " of " << sent;
  EXPECT_EQ(lost.count(), 0u);
  const auto told = lost.take();  // now that it is silent
  ASSERT_TRUE(told);
  EXPECT_NE(told->cause.find("silent for 400 ms"), std::string::npos) << told->cause;
}

}  // namespace
}  // namespace troupe::testing
