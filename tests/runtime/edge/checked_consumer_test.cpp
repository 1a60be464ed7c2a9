// Goal: a message that fails the check of a consumer is not handed on, is told once, and makes the edge silent. Method:
// an edge within this process, whose producer the test is.
#include "runtime/edge/checked_consumer.hpp"

#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"

namespace troupe {
namespace {

struct something final : payload {};

activation message(std::uint64_t index) {
  activation made;
  made.id = {0, index};
  made.samples = {0, 4};
  made.tensors = std::make_shared<const something>();
  return made;
}

struct checked : ::testing::Test {
  void send(activation sent) { EXPECT_EQ(ends.producer->try_send(sent), send_status::sent); }

  doorbell producer_bell;
  doorbell consumer_bell;
  edge_ends ends =
      inproc_edge_factory().make({.slots = 4, .producer_bell = &producer_bell, .consumer_bell = &consumer_bell});
  std::vector<error> damages;
  std::unique_ptr<edge_consumer> consumer =
      check_arrivals(std::move(ends.consumer), {.message = [](const activation& one) -> expected<void> {
                                                  TROUPE_TRY(check_form(one));
                                                  if (one.id.index < 10) return {};
                                                  return fail(error_code::wire_malformed, "test", "not sent");
                                                },
                                                .ended = [](call_number call) { return call < 3; },
                                                .on_damaged = [this](const error& what) { damages.push_back(what); }});
};

TEST_F(checked, hands_on_what_passes) {
  send(message(0));
  ends.producer->send_flush(2);
  EXPECT_EQ(consumer->try_receive()->id.index, 0U);
  EXPECT_EQ(consumer->flushed_through(), 2U);
  ends.producer->close();
  EXPECT_FALSE(consumer->try_receive());
  EXPECT_TRUE(consumer->exhausted());
  EXPECT_TRUE(damages.empty());
}

TEST_F(checked, is_silent_after_the_first_that_does_not) {
  send(message(10));
  send(message(1));
  ends.producer->send_flush(0);
  ends.producer->close();
  EXPECT_FALSE(consumer->try_receive());
  EXPECT_FALSE(consumer->try_receive());
  EXPECT_FALSE(consumer->flushed_through());
  EXPECT_FALSE(consumer->exhausted());
  EXPECT_EQ(damages.size(), 1U);
}

TEST_F(checked, refuses_a_call_that_cannot_have_ended) {
  ends.producer->send_flush(3);
  EXPECT_FALSE(consumer->flushed_through());
  EXPECT_FALSE(consumer->try_receive());
  EXPECT_EQ(damages.size(), 1U);
}

TEST_F(checked, refuses_what_no_activation_is) {
  activation bare = message(0);
  bare.tensors = nullptr;
  EXPECT_FALSE(check_form(bare));
  bare.rows = std::make_shared<const row_set>();
  EXPECT_TRUE(check_form(bare)) << "an empty part";
  activation large = message(0);
  large.samples.end = limits::micro_batch_max + 1;
  EXPECT_FALSE(check_form(large));
}

}  // namespace
}  // namespace troupe
