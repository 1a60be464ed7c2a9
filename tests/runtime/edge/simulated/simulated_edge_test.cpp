// Goal: the simulated edge keeps the edge contract, moves only when told to, and its faults do what they say.
// Method: the contract suites with a pump; step-by-step deliveries compared with what the header promises.
#include "testing/simulated_edge.hpp"

#include "../edge_close_contract.hpp"
#include "../edge_contract.hpp"
#include "../edge_random_contract.hpp"

namespace troupe::testing {
namespace {

class simulated_backend {
 public:
  edge_factory& factory() { return network_; }
  void settle() {
    while (network_.pending() > 0) network_.deliver(0);
    EXPECT_FALSE(network_.overrun());
  }
  void some_arrive(std::mt19937_64& random) {
    if (network_.pending() > 0) network_.deliver(random() % network_.pending());
  }

 private:
  simulated_network network_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(simulated, edge_contract, simulated_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(simulated, edge_close_contract, simulated_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(simulated, edge_random_contract, simulated_backend);

activation numbered(std::uint64_t index) {
  return {{0, index}, {index, index + 1}, nullptr, nullptr};
}

send_status send(edge_ends& edge, std::uint64_t index) {
  activation message = numbered(index);
  return edge.producer->try_send(message);
}

/// Does the same to every activation, flush and credit, and writes down what it was asked.
class scripted_policy final : public delivery_policy {
 public:
  delivery_action on_deliver(std::size_t edge, simulated_message what) override {
    asked.emplace_back(edge, what);
    return std::exchange(next, delivery_action::deliver);
  }
  delivery_action next = delivery_action::deliver;
  std::vector<std::pair<std::size_t, simulated_message>> asked;
};

TEST(simulated_network, nothing_arrives_before_it_is_delivered) {
  simulated_network network;
  doorbell producer_bell;
  doorbell consumer_bell;
  edge_ends edge = network.make({2, &producer_bell, &consumer_bell, 1});
  ASSERT_EQ(network.pending(), 0u);
  ASSERT_EQ(send(edge, 0), send_status::sent);
  ASSERT_EQ(send(edge, 1), send_status::sent);
  EXPECT_EQ(network.pending(), 1u) << "only the head of a direction can arrive";
  EXPECT_EQ(edge.consumer->try_receive(), std::nullopt);
  EXPECT_EQ(consumer_bell.epoch(), 0u);
  network.deliver(0);
  EXPECT_EQ(consumer_bell.epoch(), 1u);
  EXPECT_EQ(edge.consumer->try_receive()->id.index, 0u);
  EXPECT_EQ(edge.consumer->try_receive(), std::nullopt);
  edge.consumer->release();
  EXPECT_EQ(network.pending(), 2u) << "one down, one up";
  EXPECT_EQ(edge.producer->credits(), 0u);
  EXPECT_EQ(producer_bell.epoch(), 0u);
  network.deliver(1);
  EXPECT_EQ(edge.producer->credits(), 1u);
  EXPECT_EQ(producer_bell.epoch(), 1u);
}

TEST(simulated_network, the_caller_chooses_between_edges) {
  simulated_network network;
  edge_ends first = network.make({});
  edge_ends second = network.make({});
  ASSERT_EQ(send(first, 0), send_status::sent);
  ASSERT_EQ(send(second, 1), send_status::sent);
  ASSERT_EQ(network.pending(), 2u);
  network.deliver(1);
  EXPECT_FALSE(first.consumer->try_receive());
  EXPECT_TRUE(second.consumer->try_receive());
  first = {};
  EXPECT_EQ(network.pending(), 0u) << "a dead edge delivers nothing";
  EXPECT_DEATH(network.deliver(0), "pending");
}

TEST(simulated_network, a_close_is_seen_when_it_arrives) {
  simulated_network network;
  edge_ends edge = network.make({});
  edge.consumer->close();
  EXPECT_EQ(send(edge, 0), send_status::sent);
  network.deliver(1);
  EXPECT_EQ(send(edge, 1), send_status::closed);
}

TEST(simulated_network, a_producer_that_ignores_credits_is_found_out) {
  for (const bool enforced : {true, false}) {
    simulated_network network({.enforce_credits = enforced, .on_deliver = nullptr});
    edge_ends edge = network.make({});
    for (std::uint64_t index = 0; index < 3; ++index) {
      if (send(edge, index) == send_status::sent) network.deliver(0);
      EXPECT_EQ(network.overrun(), !enforced && index == 2);
    }
    while (edge.consumer->try_receive()) edge.consumer->release();
    EXPECT_EQ(network.overrun(), !enforced) << "once seen, it stays seen";
  }
}

TEST(simulated_network, faults_drop_duplicate_and_swap) {
  scripted_policy policy;
  simulated_network network({.enforce_credits = true, .on_deliver = &policy});
  edge_ends edge =
      network.make({.slots = 4, .producer_bell = nullptr, .consumer_bell = nullptr, .credits_per_ring = 1});
  for (std::uint64_t index = 0; index < 4; ++index) ASSERT_EQ(send(edge, index), send_status::sent);
  policy.next = delivery_action::drop;
  network.deliver(0);
  policy.next = delivery_action::duplicate;
  network.deliver(0);
  policy.next = delivery_action::swap;
  network.deliver(0);
  network.deliver(0);
  EXPECT_EQ(network.pending(), 0u);
  std::vector<std::uint64_t> received;
  while (const auto got = edge.consumer->try_receive()) received.push_back(got->id.index);
  EXPECT_EQ(received, (std::vector<std::uint64_t>{1, 1, 3, 2}));
  EXPECT_FALSE(network.overrun()) << "a copy takes no slot";
  for (std::size_t i = 0; i < received.size(); ++i) edge.consumer->release();
  while (network.pending() > 0) network.deliver(0);
  EXPECT_EQ(edge.producer->credits(), 3u) << "a copy gives no credit; the lost one's never comes back";
}

TEST(simulated_network, the_policy_is_asked_for_all_but_closing) {
  scripted_policy policy;
  simulated_network network({.enforce_credits = true, .on_deliver = &policy});
  edge_ends first = network.make({});
  edge_ends edge = network.make({});
  ASSERT_EQ(send(edge, 0), send_status::sent);
  edge.producer->send_flush(0);
  edge.producer->close();
  while (network.pending() > 0) network.deliver(0);
  ASSERT_TRUE(edge.consumer->try_receive());
  edge.consumer->release();
  edge.consumer->close();
  while (network.pending() > 0) network.deliver(0);
  using enum simulated_message;
  EXPECT_EQ(policy.asked, (std::vector<std::pair<std::size_t, simulated_message>>{
                              {1, simulated_message::activation}, {1, flush}, {1, credit}}));
}

TEST(simulated_network, a_swap_never_passes_a_close) {
  scripted_policy policy;
  simulated_network network({.enforce_credits = true, .on_deliver = &policy});
  edge_ends edge = network.make({});
  ASSERT_EQ(send(edge, 0), send_status::sent);
  edge.producer->close();
  policy.next = delivery_action::swap;
  network.deliver(0);
  EXPECT_FALSE(edge.consumer->exhausted());
  EXPECT_EQ(edge.consumer->try_receive()->id.index, 0u);
}

TEST(simulated_network, edges_outlive_their_network) {
  edge_ends edge;
  {
    simulated_network network;
    edge = network.make({});
  }
  EXPECT_EQ(send(edge, 0), send_status::sent);
  EXPECT_FALSE(edge.consumer->try_receive());
}

}  // namespace
}  // namespace troupe::testing
