// Goal: --placement means what it says, and every other text is an error with its place. Method: answers and places
// written down by hand.
#include "runtime/launch/explicit_placement.hpp"

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

const std::vector<node_slots> some_slots = {{"w0", {0, 1}}, {"w1", {0, 1}}, {"10.0.0.3", {4}}};
const std::vector<ranked_stage> five_ranks = {
    {"resnet.0", 0}, {"resnet.0", 1}, {"resnet.1", 0}, {"resnet.1", 1}, {"vote", 0}};

std::vector<std::size_t> placed(std::string_view text) {
  auto made = place_explicitly(text, five_ranks, some_slots);
  EXPECT_TRUE(made) << text << ": " << to_string(made.error());
  return made.value_or(std::vector<std::size_t>{});
}

TEST(explicit_placement, places_ranks_stages_and_replicas_and_fills_up_in_order) {
  EXPECT_THAT(placed("0=w1"), ElementsAre(1, 0, 0, 1, 2));
  EXPECT_THAT(placed("0-1=w1"), ElementsAre(1, 1, 0, 0, 2));
  EXPECT_THAT(placed("resnet.1=w0"), ElementsAre(1, 1, 0, 0, 2));
  EXPECT_THAT(placed("resnet.1/1=10.0.0.3,vote=w0"), ElementsAre(0, 1, 1, 2, 0));
  EXPECT_THAT(placed("4=w0,2-3=w1,0=10.0.0.3,1=w0"), ElementsAre(2, 0, 1, 1, 0));
}

TEST(explicit_placement, every_other_text_is_an_error_with_its_place) {
  const std::vector<std::tuple<std::string, error_code, std::string>> cases = {
      {"", error_code::value_out_of_range, "--placement, character 1"},
      {"w0", error_code::value_out_of_range, "--placement, character 1"},
      {"0=w0,", error_code::value_out_of_range, "--placement, character 6"},
      {"0=w9", error_code::unknown_name, "--placement, character 3"},
      {"0=", error_code::unknown_name, "--placement, character 3"},
      {"5=w0", error_code::value_out_of_range, "--placement, character 1"},
      {"2-1=w0", error_code::value_out_of_range, "--placement, character 1"},
      {"0-18446744073709551615=w0", error_code::value_out_of_range, "--placement, character 1"},
      {"lenet=w0", error_code::unknown_name, "--placement, character 1"},
      {"resnet.0/2=w0", error_code::unknown_name, "--placement, character 1"},
      {"0=w0,0=w1", error_code::value_out_of_range, "--placement, character 6"},
      {"0=w0,resnet.0=w1", error_code::value_out_of_range, "--placement, character 6"},
      {"0-1=10.0.0.3", error_code::value_out_of_range, "--placement, character 1"},
  };
  for (const auto& [text, code, where] : cases) {
    const auto made = place_explicitly(text, five_ranks, some_slots);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, code) << text << ": " << to_string(made.error());
    EXPECT_EQ(made.error().where, where) << text;
  }
}

TEST(explicit_placement, takes_names_with_a_dot_for_a_space_and_lists_them) {
  const std::vector<ranked_stage> ranks = {{"net 0", 0}, {"net 1", 0}, {"net 1", 1}};
  for (const char* text : {"net.1=w1", "net 1=w1"})
    EXPECT_THAT(place_explicitly(text, ranks, some_slots).value(), ElementsAre(0, 1, 1)) << text;
  EXPECT_THAT(place_explicitly("net.1/0=10.0.0.3", ranks, some_slots).value(), ElementsAre(0, 2, 0));
  const auto unknown = place_explicitly("vote=w1", ranks, some_slots);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().fix, "use one of: net.0, net.1");
}

// --- what a program asks for -----------------------------------------------------------------------------------------

/// As five_ranks, each with the node that it wants.
expected<std::vector<std::size_t>> wished(const std::vector<std::string>& nodes,
                                          std::optional<std::string_view> flag = std::nullopt) {
  std::vector<ranked_stage> ranks = five_ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].wanted = nodes[rank];
  return place_explicitly(flag, ranks, some_slots);
}

TEST(wished_placement, without_wishes_is_the_order_of_ranks) {
  EXPECT_THAT(*wished({"", "", "", "", ""}), ElementsAre(0, 0, 1, 1, 2));
}

TEST(wished_placement, puts_stages_where_their_program_wants_them_and_the_others_around_them) {
  EXPECT_THAT(*wished({"10.0.0.3", "", "", "", ""}), ElementsAre(2, 0, 0, 1, 1));
  EXPECT_THAT(*wished({"w1", "w1", "w0", "w0", "10.0.0.3"}), ElementsAre(1, 1, 0, 0, 2));
  EXPECT_THAT(*wished({"", "", "", "", "w0"}), ElementsAre(0, 1, 1, 2, 0));
}

TEST(wished_placement, yields_to_the_flag) {
  EXPECT_THAT(*wished({"w0", "w0", "", "", ""}, "resnet.0=w1"), ElementsAre(1, 1, 0, 0, 2));
  EXPECT_THAT(*wished({"w0", "", "", "", ""}, "1=w0"), ElementsAre(0, 0, 1, 1, 2));
}

TEST(wished_placement, names_the_stage_whose_node_is_unknown_or_full) {
  const auto unknown = wished({"", "", "", "", "w9"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, error_code::unknown_name);
  EXPECT_EQ(unknown.error().where, "placement of stage 'vote', replica 0");
  const auto full = wished({"10.0.0.3", "10.0.0.3", "", "", ""});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, error_code::value_out_of_range);
  EXPECT_EQ(full.error().where, "placement of stage 'resnet.0', replica 1");
  EXPECT_EQ(full.error().cause, "node 10.0.0.3 has only 1 slots");
}

TEST(explicit_placement, more_stages_than_slots_are_an_error) {
  const std::vector<node_slots> one{{"w0", {0}}};
  EXPECT_FALSE(place_explicitly("0=w0", five_ranks, one));
}

}  // namespace
}  // namespace troupe::testing
