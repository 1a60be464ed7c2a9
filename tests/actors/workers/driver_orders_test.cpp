// Goal: numbers that no run has, said by a driver, are errors that name the field; what drivers say passes. Method: a
// lie for every field of an assignment and of a wiring order that is held against something.
#include "actors/workers/driver_orders.hpp"

#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "tests/actors/workers/unused_transport.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

struct orders : ::testing::Test {
  wiring_plan plan = *expand(make_chain({.stages = 2, .replicas = 2, .num_pipe_buffers = 2}));
  testing::unused_transport without_contacts;
  testing::unused_transport with_contacts{{.has_contacts = true}};
  driver_orders in_memory{plan, without_contacts};
  driver_orders over_network{plan, with_contacts};
  const worker_assignment assignment = [] {
    worker_assignment made;
    made.address = {1, 1};
    made.prefetch_slots = 8;
    return made;
  }();

  void expect_refused(const std::string& field, const std::function<void(worker_assignment&)>& forge) {
    worker_assignment said = assignment;
    forge(said);
    const auto checked = over_network.check(said);
    ASSERT_FALSE(checked) << field;
    EXPECT_EQ(checked.error().code, error_code::wire_malformed);
    EXPECT_EQ(checked.error().where, "worker_assignment." + field);
  }
};

TEST_F(orders, to_become_a_stage_are_held_against_the_plan_and_the_limits) {
  EXPECT_TRUE(over_network.check(assignment));
  EXPECT_TRUE(in_memory.check(assignment));
  expect_refused("address", [](auto& said) { said.address.stage = 77; });
  expect_refused("address", [](auto& said) { said.address.replica = 2; });
  expect_refused("address", [](auto& said) { said.address.stage = 2; });  // the source
  expect_refused("prefetch_slots", [](auto& said) { said.prefetch_slots = 0; });
  expect_refused("stage_slots", [](auto& said) { said.stage_slots = limits::pipe_buffers_max + 1; });
  expect_refused("threads", [](auto& said) { said.threads = 0; });
  expect_refused("boundaries", [](auto& said) { said.boundaries.resize(limits::stages_max + 2); });
  expect_refused("runs_plain", [](auto& said) { said.runs_plain = 2; });
  expect_refused("loader_pages", [](auto& said) { said.loader_pages = 2; });
  expect_refused("ties", [](auto& said) { said.ties = {{0, 1}}; });  // the run does not train
  expect_refused("warm_up_bytes", [](auto& said) { said.warm_up_bytes = ~std::uint64_t{0}; });
}

TEST_F(orders, to_wire_are_held_against_the_plan) {
  const auto contacts_of = [](const std::vector<std::uint64_t>& numbers) {
    std::vector<edge_contact> made;
    for (const std::uint64_t each : numbers) made.push_back({.node = {}, .address = {}, .number = each});
    return made;
  };
  const wiring_order fine{
      .epoch = 1, .from = {}, .present = {0, 2, 4}, .edge_contacts = contacts_of({0, 0, 0}), .offers = {}};
  EXPECT_TRUE(in_memory.check(fine));
  EXPECT_FALSE(over_network.check(fine)) << "no contact";
  const auto where = [&](std::vector<std::uint64_t> present, const std::vector<std::uint64_t>& contacts,
                         std::vector<offered_edge> offers = {}) {
    const auto checked =
        over_network.check(wiring_order{1, {}, std::move(present), contacts_of(contacts), std::move(offers)});
    return checked ? "" : checked.error().where;
  };
  EXPECT_EQ(where({0, 4}, {7, 7}), "");
  EXPECT_EQ(where({0, 5}, {7, 7}), "wiring_order.present");
  EXPECT_EQ(where({4, 0}, {7, 7}), "wiring_order.present");
  EXPECT_EQ(where({0, 0}, {7, 7}), "wiring_order.present");
  EXPECT_EQ(where({0, 4}, {7, 10}), "wiring_order.edge_contacts");
  EXPECT_EQ(where({0, 4}, {7, 7}, {{0, 2, {}}, {3, 0, {1, 2}}}), "");
  EXPECT_EQ(where({0, 4}, {7, 7}, {{3, 2, {}}, {0, 2, {}}}), "wiring_order.offers");
  EXPECT_EQ(where({0, 4}, {7, 7}, {{3, 2, {}}, {3, 2, {}}}), "wiring_order.offers");
  EXPECT_EQ(where({0, 4}, {7, 7}, {{77, 0, {}}}), "wiring_order.offers.channel");
  EXPECT_EQ(where({0, 4}, {7, 7}, {{3, 0, std::vector<std::uint64_t>(limits::edge_offer_words_max + 1)}}),
            "wiring_order.offers.words");
  EXPECT_EQ(where({0, 4}, {7, 7}, {{3, 1, {}}}), "wiring_order.offers.blobs");
}

TEST_F(orders, that_tell_of_a_start_longer_ago_than_a_run_can_take_are_refused) {
  EXPECT_TRUE(in_memory.check(run_begun{0}));
  EXPECT_TRUE(in_memory.check(run_begun{3'600'000'000'000}));
  EXPECT_FALSE(in_memory.check(run_begun{std::numeric_limits<std::uint64_t>::max()}));
}

TEST_F(orders, to_open_more_calls_than_there_can_be_are_refused) {
  for (call_number call = 0; call < limits::calls_queued_max; ++call) EXPECT_TRUE(in_memory.check(open_call{call}));
  EXPECT_TRUE(in_memory.check(open_call{3})) << "again";
  EXPECT_TRUE(in_memory.check(release_call{0}));
  EXPECT_TRUE(in_memory.check(open_call{100}));
  EXPECT_TRUE(in_memory.check(cancel_call{100, {}}));
  EXPECT_TRUE(in_memory.check(open_call{101}));
  EXPECT_FALSE(in_memory.check(open_call{102}));
}

TEST_F(orders, to_score_by_metrics_name_them_for_no_other_content) {
  const std::vector<std::string> names = {"accuracy"};
  EXPECT_TRUE(in_memory.check(open_call{1, 0, {score_content::metrics, 10, names}}));
  EXPECT_TRUE(in_memory.check(open_call{2, 0, {score_content::loss_and_outputs, 0, {}}}));
  const auto checked = in_memory.check(open_call{3, 0, {score_content::loss, 10, names}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().where, "open_call.scores.metrics");
}

}  // namespace
}  // namespace troupe
