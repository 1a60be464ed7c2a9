// Goal: every branch gets every micro-batch once, or none does yet. Method: sending ends whose credits the test sets
// and that can close in the middle of a send, at every position.
#include <gmock/gmock.h>

#include "forked.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr branch_options fixed{.port = 0, .fixed_replica = true};

TEST(fan_out, sends_nothing_before_there_is_room_on_all_branches) {
  forked to{{1, 1, 1}};
  to.edges[2][0].credits = 0;
  EXPECT_EQ(to.send(0), outcome::no_credit);
  for (const auto& branch : to.edges) EXPECT_THAT(branch[0].got, IsEmpty());
  to.edges[2][0].credits = 1;
  EXPECT_EQ(to.send_outputs(), outcome::sent);
  for (const auto& branch : to.edges) EXPECT_THAT(branch[0].got, ElementsAre(0));
}

TEST(fan_out, all_branches_of_an_output_share_its_payload) {
  forked to{{1, 1, 1, 1}, {}, 2};
  EXPECT_EQ(to.send(0), outcome::sent);
  for (std::size_t b = 0; b < 4; ++b) EXPECT_THAT(to.edges[b][0].payloads, ElementsAre(to.handles[b % 2]));
}

TEST(fan_out, one_branch_alone_is_given_the_handle_itself) {
  forked to{{2}};
  EXPECT_EQ(to.send(0), outcome::sent);
  EXPECT_EQ(to.outputs[0].tensors, nullptr);
}

TEST(fan_out, gives_to_the_replica_with_most_credit) {
  forked to{{3}};
  to.edges[0][0].credits = 1;
  to.edges[0][1].credits = 3;
  to.edges[0][2].credits = 2;
  EXPECT_EQ(to.send(0), outcome::sent);
  EXPECT_THAT(to.edges[0][1].got, ElementsAre(0));
}

TEST(fan_out, replicas_of_equal_credit_take_turns_on_every_branch) {
  forked to{{2, 3}};
  for (std::uint64_t index = 0; index < 6; ++index) {
    EXPECT_EQ(to.send(index), outcome::sent);
    for (auto& branch : to.edges) {
      for (fake_edge& each : branch) each.credits = 4;
    }
  }
  for (const fake_edge& each : to.edges[0]) EXPECT_EQ(each.got.size(), 3u);
  for (const fake_edge& each : to.edges[1]) EXPECT_EQ(each.got.size(), 2u);
}

TEST(fan_out, a_fixed_replica_gets_its_ids_and_no_others) {
  forked to{{3}, fixed};
  for (const std::uint64_t index : {0u, 1u, 2u, 3u, 5u}) EXPECT_EQ(to.send(index), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(0, 3));
  EXPECT_THAT(to.edges[0][1].got, ElementsAre(1));
  EXPECT_THAT(to.edges[0][2].got, ElementsAre(2, 5));
}

TEST(fan_out, a_fixed_replica_is_waited_for_though_others_have_credit) {
  forked to{{2}, fixed};
  to.edges[0][1].credits = 0;
  EXPECT_EQ(to.send(1), outcome::no_credit);
  to.edges[0][1].credits = 1;
  EXPECT_EQ(to.send_outputs(), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, IsEmpty());
  EXPECT_THAT(to.edges[0][1].got, ElementsAre(1));
}

TEST(fan_out, a_receiver_that_closes_in_the_middle_leaves_the_others_their_one_part) {
  for (std::size_t closing = 0; closing < 3; ++closing) {
    forked to{{1, 1, 1}};
    to.edges[closing][0].closes_on_send = true;
    EXPECT_EQ(to.send(0), outcome::sent);
    EXPECT_EQ(to.send(1), outcome::sent);
    for (std::size_t b = 0; b < 3; ++b) {
      if (b == closing) continue;
      EXPECT_THAT(to.edges[b][0].got, ElementsAre(0, 1)) << "branch " << b << ", closed " << closing;
    }
    EXPECT_THAT(to.edges[closing][0].got, IsEmpty());
  }
}

TEST(fan_out, an_edge_that_is_lost_in_the_middle_is_waited_for_and_nobody_gets_the_micro_batch_twice) {
  for (std::size_t lost = 0; lost < 3; ++lost) {
    forked to{{1, 1, 1}};
    to.edges[lost][0].lost_on_send = true;
    EXPECT_EQ(to.send(0), outcome::no_credit);
    EXPECT_EQ(to.send_outputs(), outcome::no_credit);
    for (std::size_t b = 0; b < 3; ++b) EXPECT_LE(to.edges[b][0].got.size(), b == lost ? 0u : 1u);
  }
}

TEST(fan_out, a_replica_that_is_lost_in_the_middle_leaves_the_micro_batch_to_the_others) {
  forked to{{2}};
  to.edges[0][1].lost_on_send = true;
  to.edges[0][0].credits = 3;  // the other one is chosen first
  EXPECT_EQ(to.send(0), outcome::no_credit);
  EXPECT_EQ(to.send_outputs(), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(0));
}

TEST(fan_out, the_replica_beside_a_closed_one_takes_its_place) {
  forked to{{2, 1}};
  to.edges[0][1].closes_on_send = true;
  for (std::uint64_t index = 0; index < 3; ++index) EXPECT_EQ(to.send(index), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(0, 1, 2));
  EXPECT_THAT(to.edges[1][0].got, ElementsAre(0, 1, 2));
}

/// Half sent without a lost edge: the receiver closed, and the replica that is left has no room.
TEST(fan_out, after_a_close_in_the_middle_nobody_gets_the_micro_batch_twice) {
  forked to{{2, 1}};
  to.edges[0][1].closes_on_send = true;
  to.edges[0][0].credits = 0;
  EXPECT_EQ(to.send(7), outcome::no_credit);
  EXPECT_EQ(to.send_outputs(), outcome::no_credit);
  to.edges[0][0].credits = 1;
  EXPECT_EQ(to.send_outputs(), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(7));
  EXPECT_THAT(to.edges[1][0].got, ElementsAre(7));
}

TEST(fan_out, after_one_that_is_given_up_half_sent_every_branch_gets_the_next) {
  forked to{{2, 1}};
  to.edges[0][1].closes_on_send = true;
  to.edges[0][0].credits = 0;
  EXPECT_EQ(to.send(7), outcome::no_credit);
  EXPECT_TRUE(to.outbound.is_half_sent({0, 7}));
  to.edges[0][0].credits = 4;
  EXPECT_EQ(to.send(8), outcome::sent);
  EXPECT_FALSE(to.outbound.is_half_sent({0, 7}));
  EXPECT_FALSE(to.outbound.is_half_sent({0, 8}));
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(8));
  EXPECT_THAT(to.edges[1][0].got, ElementsAre(7, 8));
}

TEST(fan_out, what_no_branch_has_is_not_half_sent) {
  forked to{{1, 1}};
  to.edges[1][0].credits = 0;
  EXPECT_FALSE(to.outbound.has_room(to.outputs));
  EXPECT_EQ(to.send(0), outcome::no_credit);
  EXPECT_FALSE(to.outbound.is_half_sent({0, 0}));
  to.edges[1][0].credits = 1;
  EXPECT_TRUE(to.outbound.has_room(to.outputs));
  EXPECT_THAT(to.edges[0][0].got, IsEmpty()) << "looking sends nothing";
}

TEST(fan_out, a_branch_that_has_its_part_needs_no_room) {
  forked to{{1, 1}};
  to.edges[0][0].credits = 1;
  to.edges[1][0].lost_on_send = true;
  EXPECT_EQ(to.send(0), outcome::no_credit);
  to.edges[1][0] = {};
  EXPECT_TRUE(to.outbound.has_room(to.outputs));
  EXPECT_EQ(to.send_outputs(), outcome::sent);
}

TEST(fan_out, what_one_branch_got_was_sent_though_the_other_one_closes_later) {
  forked to{{1, 1}};
  to.edges[1][0].lost_on_send = true;
  EXPECT_EQ(to.send(0), outcome::no_credit);
  to.edges[1][0].gone = true;
  EXPECT_EQ(to.send_outputs(), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(0));
}

TEST(fan_out, says_when_every_receiver_is_gone) {
  forked to{{1, 2}};
  for (auto& branch : to.edges) {
    for (fake_edge& each : branch) each.gone = true;
  }
  EXPECT_EQ(to.send(0), outcome::all_closed);
  EXPECT_EQ(to.send(1), outcome::all_closed);
}

TEST(fan_out, a_fixed_replica_that_is_gone_closes_its_branch) {
  forked to{{2, 1}, fixed};
  to.edges[0][1].gone = true;
  EXPECT_EQ(to.send(0), outcome::sent);
  EXPECT_EQ(to.send(1), outcome::sent);
  EXPECT_EQ(to.send(2), outcome::sent);
  EXPECT_THAT(to.edges[0][0].got, ElementsAre(0)) << "without its neighbour the ids do not meet any more";
  EXPECT_THAT(to.edges[1][0].got, ElementsAre(0, 1, 2));
}

TEST(fan_out, tells_every_edge_of_the_end_of_a_call_and_of_its_own) {
  forked to{{2, 1}};
  to.outbound.send_flush(3);
  to.outbound.close();
  for (const auto& branch : to.edges) {
    for (const fake_edge& each : branch) {
      EXPECT_THAT(each.ended, ElementsAre(3));
      EXPECT_EQ(each.closed, 1);
    }
  }
}

}  // namespace
}  // namespace troupe::testing
