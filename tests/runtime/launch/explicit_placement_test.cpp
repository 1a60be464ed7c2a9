// Goal: --placement means what it says, and every other text is an error with its place. Method: answers and places
// written down by hand.
#include "runtime/launch/explicit_placement.hpp"

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

const std::vector<node_slots> three_nodes = {{"w0", {0, 1}}, {"w1", {0, 1}}, {"10.0.0.3", {4}}};
const std::vector<ranked_stage> five_ranks = {
    {"resnet.0", 0}, {"resnet.0", 1}, {"resnet.1", 0}, {"resnet.1", 1}, {"vote", 0}};

std::vector<std::size_t> placed(std::string_view text) {
  auto made = place_explicitly(text, five_ranks, three_nodes);
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
    const auto made = place_explicitly(text, five_ranks, three_nodes);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, code) << text << ": " << to_string(made.error());
    EXPECT_EQ(made.error().where, where) << text;
  }
}

TEST(explicit_placement, more_stages_than_slots_are_an_error) {
  const std::vector<node_slots> one{{"w0", {0}}};
  EXPECT_FALSE(place_explicitly("0=w0", five_ranks, one));
}

}  // namespace
}  // namespace troupe::testing
