// The contract of edge.hpp, case by case, in one thread: every backend instantiates it (some 30 lines, see inproc/).
#pragma once

#include <vector>

#include "edge_contract_support.hpp"

namespace troupe::testing {

template <class Backend>
class edge_contract : public edge_fixture<Backend> {};
TYPED_TEST_SUITE_P(edge_contract);

TYPED_TEST_P(edge_contract, delivers_everything_in_order_exactly_once_and_unchanged) {
  for (std::uint32_t slots = 1; slots <= 16; ++slots) {
    this->open(slots);
    std::uint64_t received = 0;
    for (std::uint64_t index = 0; index < 100; ++index) {
      activation given = this->message(index, index / 10);
      const activation kept = given;
      ASSERT_EQ(this->ends.producer->try_send(given), send_status::sent);
      this->backend.settle();
      if (this->ends.producer->credits() > 0 && index < 99) continue;
      while (auto got = this->ends.consumer->try_receive()) {
        EXPECT_EQ(got->id, (micro_batch_id{received / 10, received}));
        EXPECT_EQ(got->samples, (sample_range{received * 10, received * 10 + 7}));
        if (received == index) {
          EXPECT_TRUE(this->is_same(got->tensors, kept.tensors));
          EXPECT_TRUE(this->is_same(got->labels, kept.labels));
        }
        ++received;
        this->release();
      }
      this->await_drops();
    }
    EXPECT_EQ(received, 100u);
    EXPECT_FALSE(this->receive());
  }
}

TYPED_TEST_P(edge_contract, credits_are_the_free_slots) {
  for (std::uint32_t slots = 1; slots <= 16; ++slots) {
    this->open(slots);
    EXPECT_EQ(this->ends.producer->slots(), slots);
    for (std::uint32_t in_use = 0; in_use < slots; ++in_use) {
      EXPECT_TRUE(this->ends.producer->has_credit());
      EXPECT_EQ(this->ends.producer->credits(), slots - in_use);
      ASSERT_EQ(this->send(in_use), send_status::sent);
    }
    this->backend.settle();
    EXPECT_FALSE(this->ends.producer->has_credit());
    EXPECT_EQ(this->ends.producer->credits(), 0u);
    while (this->receive()) EXPECT_EQ(this->ends.producer->credits(), 0u) << "receiving frees no slot";
    for (std::uint32_t freed = 1; freed <= slots; ++freed) {
      this->release();
      EXPECT_TRUE(this->ends.producer->has_credit());
      EXPECT_EQ(this->ends.producer->credits(), freed);
    }
  }
}

TYPED_TEST_P(edge_contract, no_credit_leaves_the_message_untouched) {
  this->open(2);
  this->fill(2);
  activation refused = this->message(9);
  const activation kept = refused;
  EXPECT_EQ(this->ends.producer->try_send(refused), send_status::no_credit);
  EXPECT_EQ(refused.id, kept.id);
  EXPECT_EQ(refused.tensors, kept.tensors);
  EXPECT_EQ(refused.labels, kept.labels);
  ASSERT_TRUE(this->receive());
  EXPECT_EQ(this->ends.producer->try_send(refused), send_status::no_credit) << "received is not released";
  this->release();
  EXPECT_EQ(this->ends.producer->try_send(refused), send_status::sent);
  EXPECT_EQ(refused.tensors, nullptr) << "sent is given away";
}

TYPED_TEST_P(edge_contract, slots_are_released_at_any_time_while_others_are_in_use) {
  this->open(4);
  this->fill(4);
  std::vector<activation> held;
  for (int i = 0; i < 3; ++i) held.push_back(*this->ends.consumer->try_receive());
  held.erase(held.begin() + 1);  // the middle one is done first
  this->release();
  EXPECT_EQ(this->ends.producer->credits(), 1u);
  ASSERT_EQ(this->send(4), send_status::sent);
  this->backend.settle();
  EXPECT_EQ(this->ends.consumer->try_receive()->id.index, 3u);
  EXPECT_EQ(this->ends.consumer->try_receive()->id.index, 4u);
  EXPECT_EQ(held[1].id.index, 2u) << "what is in use is not overwritten";
  for (int i = 0; i < 4; ++i) this->release();
  if constexpr (TestFixture::views) {
    EXPECT_EQ(this->ends.producer->credits(), 2u) << "released, but two are viewed";
    held.clear();
    this->backend.settle();
  }
  EXPECT_EQ(this->ends.producer->credits(), 4u);
}

TYPED_TEST_P(edge_contract, a_flush_comes_after_everything_sent_before_it) {
  this->open(2);
  EXPECT_EQ(this->ends.consumer->flushed_through(), std::nullopt);
  this->fill(2);
  this->ends.producer->send_flush(0);
  this->backend.settle();
  EXPECT_EQ(this->ends.producer->credits(), 0u) << "a flush takes no credit and needs none";
  EXPECT_EQ(this->ends.consumer->flushed_through(), std::nullopt);
  ASSERT_TRUE(this->receive());
  EXPECT_EQ(this->ends.consumer->flushed_through(), std::nullopt) << "one sent before it is unreceived";
  this->release();
  ASSERT_EQ(this->send(2, 1), send_status::sent);
  this->backend.settle();
  ASSERT_TRUE(this->receive());
  EXPECT_EQ(this->ends.consumer->flushed_through(), 0u) << "what was sent after it does not delay it";
  ASSERT_TRUE(this->receive());
  EXPECT_EQ(this->ends.consumer->flushed_through(), 0u);
}

TYPED_TEST_P(edge_contract, a_flush_is_idempotent_and_the_greatest_counts) {
  this->open(1);
  for (const call_number call : {4u, 4u, 2u, 0u}) this->ends.producer->send_flush(call);
  this->backend.settle();
  EXPECT_EQ(this->ends.consumer->flushed_through(), 4u);
  ASSERT_EQ(this->send(0, 5), send_status::sent);
  this->ends.producer->send_flush(3);
  this->ends.producer->send_flush(7);
  this->backend.settle();
  EXPECT_EQ(this->ends.consumer->flushed_through(), 4u);
  ASSERT_TRUE(this->receive());
  EXPECT_EQ(this->ends.consumer->flushed_through(), 7u);
}

TYPED_TEST_P(edge_contract, bells_ring_for_data_credit_flush_and_close_and_for_nothing_else) {
  this->open(2);
  bell_watch producer(this->producer_bell);
  bell_watch consumer(this->consumer_bell);
  this->fill(2);
  EXPECT_TRUE(consumer.rang()) << "data";
  ASSERT_EQ(this->send(9), send_status::no_credit);
  ASSERT_TRUE(this->receive());
  this->backend.settle();
  EXPECT_FALSE(consumer.rang() || producer.rang()) << "neither a refused send nor a receive is news";
  this->release();
  EXPECT_TRUE(producer.rang()) << "credit";
  this->ends.producer->send_flush(0);
  this->backend.settle();
  EXPECT_TRUE(consumer.rang()) << "flush";
  this->ends.producer->close();
  this->backend.settle();
  EXPECT_TRUE(consumer.rang()) << "close by the producer";
  EXPECT_FALSE(producer.rang());

  this->open(2);
  producer.rang();
  this->ends.consumer->close();
  this->backend.settle();
  EXPECT_TRUE(producer.rang()) << "close by the consumer";
  consumer.rang();
  this->ends.producer->close();
  this->backend.settle();
  EXPECT_FALSE(consumer.rang()) << "its own end is closed: its owner may be gone";
}

TYPED_TEST_P(edge_contract, the_producers_bell_waits_for_enough_credits) {
  for (const std::uint32_t per_ring : {1u, 3u, 8u, 100u}) {
    this->open(8, per_ring);
    this->fill(8);
    bell_watch producer(this->producer_bell);
    for (std::uint32_t freed = 1; freed <= 8; ++freed) {
      ASSERT_TRUE(this->receive());
      this->release();
      EXPECT_EQ(this->ends.producer->credits(), freed);
      EXPECT_EQ(producer.rang(), per_ring == 1 || freed == std::min(per_ring, 8u)) << freed << ", at " << per_ring;
    }
    ASSERT_NO_FATAL_FAILURE(this->fill(8));
    producer.rang();
    for (std::uint32_t freed = 1; freed <= 8; ++freed) {
      ASSERT_TRUE(this->receive());
      this->release();
      EXPECT_EQ(producer.rang(), per_ring == 1 || freed == std::min(per_ring, 8u)) << "again, " << freed;
    }
  }
}

TYPED_TEST_P(edge_contract, works_without_bells) {
  this->ends = this->backend.factory().make({1, nullptr, nullptr, 1});
  this->fill(1);
  this->ends.producer->send_flush(0);
  this->backend.settle();
  EXPECT_TRUE(this->receive());
  this->release();
  EXPECT_EQ(this->ends.producer->credits(), 1u);
}

TYPED_TEST_P(edge_contract, misuse_is_a_broken_invariant) {
  this->open(2);
  this->fill(1);
  EXPECT_DEATH(this->ends.consumer->release(), "one release per receive");
  ASSERT_TRUE(this->receive());
  this->release();
  EXPECT_DEATH(this->ends.consumer->release(), "one release per receive");
  this->ends.producer->close();
  EXPECT_DEATH(this->send(1), "nothing is sent after close");
  EXPECT_DEATH(this->open(0), "slots");
  EXPECT_DEATH(this->open(257), "slots");
  EXPECT_DEATH(this->open(1, 0), "rung");
}

REGISTER_TYPED_TEST_SUITE_P(edge_contract, delivers_everything_in_order_exactly_once_and_unchanged,
                            credits_are_the_free_slots, no_credit_leaves_the_message_untouched,
                            slots_are_released_at_any_time_while_others_are_in_use,
                            a_flush_comes_after_everything_sent_before_it,
                            a_flush_is_idempotent_and_the_greatest_counts,
                            bells_ring_for_data_credit_flush_and_close_and_for_nothing_else,
                            the_producers_bell_waits_for_enough_credits, works_without_bells,
                            misuse_is_a_broken_invariant);

}  // namespace troupe::testing
