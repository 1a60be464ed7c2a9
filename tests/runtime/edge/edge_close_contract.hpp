// The contract of edge.hpp on closing and on how long payloads live: close from either side in every state, in one
// thread.
#pragma once

#include "edge_contract_support.hpp"

namespace troupe::testing {

template <class Backend>
class edge_close_contract : public edge_fixture<Backend> {};
TYPED_TEST_SUITE_P(edge_close_contract);

TYPED_TEST_P(edge_close_contract, what_the_producer_sent_before_close_is_delivered) {
  for (const std::uint32_t sent : {0u, 2u, 4u}) {
    this->open(4);
    this->fill(sent);
    this->ends.producer->send_flush(1);
    this->ends.producer->close();
    this->ends.producer->close();
    this->backend.settle();
    for (std::uint32_t i = 0; i < sent; ++i) {
      EXPECT_FALSE(this->ends.consumer->exhausted());
      EXPECT_EQ(this->ends.consumer->try_receive()->id.index, i);
    }
    EXPECT_EQ(this->ends.consumer->flushed_through(), 1u);
    EXPECT_TRUE(this->ends.consumer->exhausted());
    EXPECT_FALSE(this->receive());
    for (std::uint32_t i = 0; i < sent; ++i) this->release();
  }
}

TYPED_TEST_P(edge_close_contract, the_consumers_close_drops_what_is_undelivered_and_refuses_the_rest) {
  for (const std::uint32_t sent : {0u, 2u, 4u}) {
    this->open(4);
    this->fill(sent);
    if (sent == 4) {
      ASSERT_TRUE(this->receive());
    }
    this->ends.consumer->close();
    this->ends.consumer->close();
    this->backend.settle();
    EXPECT_EQ(this->alive, 0) << "dropped at once";
    EXPECT_FALSE(this->receive());
    activation refused = this->message(9);
    EXPECT_TRUE(this->ends.producer->has_credit());
    EXPECT_EQ(this->ends.producer->credits(), 4u) << "who looks at credits first must go on and learn of the close";
    EXPECT_EQ(this->ends.producer->try_send(refused), send_status::closed);
    EXPECT_NE(refused.tensors, nullptr);
    this->ends.producer->send_flush(3);
    if (sent == 4) this->release();
    this->ends.producer->close();
    this->backend.settle();
    EXPECT_EQ(this->ends.consumer->flushed_through(), std::nullopt) << "dropped is not received";
    EXPECT_EQ(this->ends.consumer->exhausted(), sent == 0);
  }
}

TYPED_TEST_P(edge_close_contract, destroying_an_end_closes_it_and_the_other_lives_on) {
  this->open(2);
  this->fill(2);
  this->ends.producer.reset();
  this->backend.settle();
  EXPECT_TRUE(this->receive());
  this->release();
  EXPECT_FALSE(this->ends.consumer->exhausted());
  EXPECT_TRUE(this->receive());
  EXPECT_TRUE(this->ends.consumer->exhausted());

  this->open(2);
  this->fill(1);
  this->ends.consumer.reset();
  this->backend.settle();
  EXPECT_EQ(this->send(1), send_status::closed);
  EXPECT_EQ(this->alive, 0);
}

TYPED_TEST_P(edge_close_contract, payloads_live_as_long_as_somebody_needs_them) {
  this->open(3);
  activation given = this->message(0);
  const std::weak_ptr<const payload> watched = given.tensors;
  const payload_ptr kept_by_loader = given.labels;
  ASSERT_EQ(this->ends.producer->try_send(given), send_status::sent);
  this->backend.settle();
  EXPECT_EQ(watched.expired(), TestFixture::copies) << "the edge owns what is under way";
  {
    const auto got = this->ends.consumer->try_receive();
    EXPECT_EQ(watched.expired(), TestFixture::copies);
  }
  EXPECT_TRUE(watched.expired()) << "the slot keeps no second handle";
  EXPECT_EQ(kept_by_loader.use_count(), 1);
  this->fill(2);
  EXPECT_EQ(this->alive, 1 + this->kept(4));
  this->ends = {};
  EXPECT_EQ(this->alive, 1) << "both ends gone: nothing is left on the edge";
}

TYPED_TEST_P(edge_close_contract, an_abandoned_end_is_silence) {
  if constexpr (requires { this->backend.expect_losses(); }) this->backend.expect_losses();
  this->open(2);
  this->ends.producer->abandon();
  this->backend.settle();
  EXPECT_FALSE(this->ends.consumer->exhausted());
  this->ends.producer.reset();
  this->backend.settle();
  EXPECT_FALSE(this->ends.consumer->exhausted()) << "nor when it is destroyed";
  EXPECT_EQ(this->ends.consumer->flushed_through(), std::nullopt);

  this->open(2);
  this->ends.consumer->abandon();
  this->ends.consumer.reset();
  this->backend.settle();
  EXPECT_NE(this->send(0), send_status::closed);
}

REGISTER_TYPED_TEST_SUITE_P(edge_close_contract, what_the_producer_sent_before_close_is_delivered,
                            the_consumers_close_drops_what_is_undelivered_and_refuses_the_rest,
                            destroying_an_end_closes_it_and_the_other_lives_on,
                            payloads_live_as_long_as_somebody_needs_them, an_abandoned_end_is_silence);

}  // namespace troupe::testing
