// Goal: an edge under faults keeps the edge contract where none hits, and does what each fault says where it does.
// Method: the contract suites over in-process edges with a consumer in between; single messages that are hit.
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../edge/edge_close_contract.hpp"
#include "../edge/edge_contract.hpp"
#include "../edge/edge_random_contract.hpp"
#include "injection_support.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Faults that are there and do not hit.
class quiet_factory final : public edge_factory {
 public:
  edge_ends make(const edge_options& options) override {
    edge_ends made = inner_.make(options);
    made.consumer = disturb_arrivals(std::move(made.consumer),
                                     {trigger("drop:edge=a-b,at=msg1000000000"), trigger("delay:edge=a-b,ms=0"),
                                      trigger("partition:edge=a-b,at=99999s")},
                                     {});
    return made;
  }

 private:
  inproc_edge_factory inner_;
};

class quiet_backend {
 public:
  edge_factory& factory() { return factory_; }
  void settle() {}
  void some_arrive(std::mt19937_64&) {}

 private:
  quiet_factory factory_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(undisturbed, edge_contract, quiet_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(undisturbed, edge_close_contract, quiet_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(undisturbed, edge_random_contract, quiet_backend);

/// An edge of eight slots under one fault.
class disturbed_edge {
 public:
  explicit disturbed_edge(const std::string& text) {
    edge_ends made = inproc_edge_factory().make({8, &bell_, &bell_, 1});
    producer = std::move(made.producer);
    consumer = disturb_arrivals(std::move(made.consumer), {trigger(text, [this](bool) { return ++injected > 0; })},
                                [this](const error& why) { lost = why; });
  }
  void send(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      activation message{{0, sent_}, {sent_, sent_ + 1}, nullptr, nullptr, nullptr};
      ++sent_;
      ASSERT_EQ(producer->try_send(message), send_status::sent);
    }
  }
  /// What can be received now; each is released.
  std::vector<std::uint64_t> receive() {
    std::vector<std::uint64_t> got;
    while (auto message = consumer->try_receive()) {
      got.push_back(message->id.index);
      consumer->release();
    }
    return got;
  }
  /// The same until so many have come.
  std::vector<std::uint64_t> receive(std::size_t count) {
    std::vector<std::uint64_t> got;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (got.size() < count && std::chrono::steady_clock::now() < until) {
      for (const std::uint64_t each : receive()) got.push_back(each);
    }
    return got;
  }

 private:
  doorbell bell_;
  std::uint64_t sent_ = 0;

 public:
  std::unique_ptr<edge_producer> producer;
  std::unique_ptr<edge_consumer> consumer;
  std::optional<error> lost;
  int injected = 0;
};

TEST(faulty_consumer, is_lost_with_the_message_that_it_drops) {
  disturbed_edge edge("drop:edge=a-b,at=msg2");
  edge.send(3);
  EXPECT_THAT(edge.receive(), IsEmpty()) << "what is behind a loss does not come either";
  ASSERT_TRUE(edge.lost);
  EXPECT_EQ(edge.lost->code, error_code::peer_lost);
  EXPECT_EQ(edge.injected, 1);
  edge.producer->send_flush(0);
  edge.producer->close();
  EXPECT_FALSE(edge.consumer->exhausted()) << "a lost end is silent";
  EXPECT_EQ(edge.consumer->flushed_through(), std::nullopt);
}

TEST(faulty_consumer, gives_a_message_twice_for_one_slot) {
  disturbed_edge edge("duplicate:edge=a-b,at=msg2");
  edge.send(3);
  EXPECT_THAT(edge.receive(), ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(edge.producer->credits(), 8u) << "each slot came back once";
}

TEST(faulty_consumer, gives_a_message_behind_the_next_one) {
  disturbed_edge edge("reorder:edge=a-b,at=msg2");
  edge.send(4);
  EXPECT_THAT(edge.receive(), ElementsAre(0, 2, 1, 3));
}

TEST(faulty_consumer, gives_the_last_message_though_none_is_behind_it) {
  disturbed_edge edge("reorder:edge=a-b,at=msg2");
  edge.send(2);
  edge.producer->send_flush(0);
  edge.producer->close();
  EXPECT_THAT(edge.receive(), ElementsAre(0));
  EXPECT_EQ(edge.consumer->flushed_through(), std::nullopt) << "the flush is behind what is held back";
  EXPECT_FALSE(edge.consumer->exhausted());
  EXPECT_THAT(edge.receive(1), ElementsAre(1));
  EXPECT_EQ(edge.consumer->flushed_through(), 0u);
  EXPECT_TRUE(edge.consumer->exhausted());
}

TEST(faulty_consumer, keeps_the_order_behind_a_late_message) {
  disturbed_edge edge("delay:edge=a-b,at=msg2,ms=30");
  const auto begin = std::chrono::steady_clock::now();
  edge.send(3);
  EXPECT_THAT(edge.receive(3), ElementsAre(0, 1, 2));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{30});
}

TEST(faulty_consumer, passes_nothing_while_it_is_partitioned_and_all_of_it_after) {
  disturbed_edge edge("partition:edge=a-b,for=0.05s");
  edge.send(3);
  edge.producer->close();
  EXPECT_THAT(edge.receive(), IsEmpty());
  EXPECT_FALSE(edge.consumer->exhausted());
  EXPECT_THAT(edge.receive(3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(edge.consumer->exhausted());
}

}  // namespace
}  // namespace troupe::testing
