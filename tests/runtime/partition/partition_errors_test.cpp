// Goal: what cannot be partitioned is refused by an error that says why. Method: a table of bad input with code and
// words of the cause.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "runtime/partition/partition_layers.hpp"
#include "runtime/partition/type_regex.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

struct bad_method {
  std::string text;
  error_code code;
  std::string words;
};

TEST(parse_partition_method, refuses) {
  const bad_method table[] = {
      {"best", error_code::unknown_name, "'best'"},
      {"", error_code::unknown_name, "''"},
      {"Uniform", error_code::unknown_name, "'Uniform'"},
      {"type:", error_code::value_out_of_range, "empty"},
      {"type:" + std::string(300, 'a'), error_code::value_out_of_range, "300 characters"},
      {"type:conv(2d", error_code::value_out_of_range, "'conv(2d' does not compile: Mismatched '('"},
      {"type:conv)2d", error_code::value_out_of_range, "'conv)2d' does not compile"},
      {"type:*conv", error_code::value_out_of_range, "'*conv' does not compile"},
      {"type:conv[z-a]", error_code::value_out_of_range, "'conv[z-a]' does not compile: Invalid range"},
      {"type:ab[cd", error_code::value_out_of_range, "'ab[cd' does not compile"},
      {"type:conv\\", error_code::value_out_of_range, "does not compile"},
      {"type:a{100000}{100000}", error_code::value_out_of_range, "does not compile"},
      {"1,4,15", error_code::partition_bad_boundaries, "the first boundary is 1"},
      {"0,4,4,15", error_code::partition_bad_boundaries, "boundary 4 follows 4"},
      {"0,5,3", error_code::partition_bad_boundaries, "boundary 3 follows 5"},
      {"0", error_code::partition_bad_boundaries, "one boundary alone"},
      {"0,,15", error_code::partition_bad_boundaries, "'' is not"},
      {"0,4,15,", error_code::partition_bad_boundaries, "'' is not"},
      {"0, ,4", error_code::partition_bad_boundaries, "'' is not"},
      {"0,4 5", error_code::partition_bad_boundaries, "'4 5' is not"},
      {"0,-4", error_code::partition_bad_boundaries, "'-4' is not"},
      {"0,99999999999999999999", error_code::partition_bad_boundaries, "is not a layer number"},
  };
  for (const bad_method& bad : table) {
    if (testing::sanitized && bad.text.find('{') != std::string::npos)
      continue;  // 100,000 states of std::regex: half a minute
    const auto result = parse_partition_method(bad.text);
    ASSERT_FALSE(result.has_value()) << bad.text;
    EXPECT_EQ(result.error().code, bad.code) << bad.text;
    EXPECT_THAT(result.error().cause, HasSubstr(bad.words));
    EXPECT_NE(result.error().fix, "");
  }
}

TEST(parse_partition_method, reads_what_it_writes) {
  for (const char* text :
       {"auto", "uniform", "parameters", "profile", "balanced", "type:conv|linear", "0,4,15", "0,1"}) {
    EXPECT_EQ(to_string(*parse_partition_method(text)), text);
  }
  EXPECT_EQ(parse_partition_method("0,4,15")->parts(), 2u);
  EXPECT_EQ(parse_partition_method("uniform")->parts(), std::nullopt);
}

TEST(parse_weights, refuses) {
  for (const char* text :
       {"", "1,,2", "1,x", "1,2,", "1;2", "-1,2", "nan", "1,inf", "1e999", "1e308,1e308,1e308", "1 2"}) {
    const auto result = parse_weights(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, error_code::partition_bad_weights) << text;
  }
  EXPECT_THAT(parse_weights("1,2,x3").error().cause, HasSubstr("'x3' (number 3"));
}

TEST(lists, may_have_blanks_around_their_commas) {
  EXPECT_EQ(*parse_weights(" 1, 2.5 ,3"), (std::vector<double>{1, 2.5, 3}));
  EXPECT_EQ(parse_partition_method("0, 4 ,15")->boundaries, (std::vector<std::size_t>{0, 4, 15}));
}

std::vector<layer_weight> lenet() {
  return {{"Conv2d", 156, 3e-3},
          {"ReLU", 0, 1e-3},
          {"MaxPool2d", 0, 1e-3},
          {"Conv2d", 2416, 2e-3},
          {"Linear", 48120, 1e-3}};
}

expected<part_boundaries> cut(std::string_view method, std::size_t stages) {
  return partition_layers(*parse_partition_method(method), lenet(), stages);
}

TEST(partition_layers, every_method) {
  EXPECT_EQ(*cut("uniform", 2), (part_boundaries{0, 3, 5}));
  EXPECT_EQ(*cut("parameters", 2), (part_boundaries{0, 4, 5}));
  EXPECT_EQ(*cut("type:CONV", 2), (part_boundaries{0, 3, 5}));
  EXPECT_EQ(*cut("type:2d$", 3), (part_boundaries{0, 2, 3, 5}));
  EXPECT_EQ(*cut("profile", 2), (part_boundaries{0, 2, 5}));
  EXPECT_EQ(*cut("0,1,5", 2), (part_boundaries{0, 1, 5}));
  EXPECT_EQ(*cut("parameters", 5), (part_boundaries{0, 1, 2, 3, 4, 5}));
}

struct settled_case {
  std::size_t layers;
  std::size_t stages;
  bool can_be_timed;
  std::string becomes;
};

TEST(settle, makes_auto_a_profile_where_times_can_change_the_cut) {
  for (const auto& [layers, stages, can_be_timed, becomes] : {settled_case{5, 2, true, "profile"},
                                                              {5, 4, true, "profile"},
                                                              {5, 5, true, "parameters"},
                                                              {5, 6, true, "parameters"},
                                                              {5, 1, true, "parameters"},
                                                              {5, 2, false, "parameters"}}) {
    EXPECT_EQ(to_string(settle(*parse_partition_method("auto"), layers, stages, can_be_timed)), becomes) << stages;
  }
  for (const char* text : {"uniform", "parameters", "profile", "type:conv", "0,2,5"}) {
    EXPECT_EQ(to_string(settle(*parse_partition_method(text), 5, 2, true)), text);
  }
}

TEST(partition_layers, no_parameters_at_all_still_leaves_no_stage_empty) {
  const std::vector<layer_weight> layers(6, layer_weight{"ReLU", 0, 0});
  for (std::size_t stages = 1; stages <= 6; ++stages) {
    EXPECT_EQ(partition_layers(*parse_partition_method("parameters"), layers, stages)->size(), stages + 1);
    EXPECT_EQ(partition_layers(*parse_partition_method("profile"), layers, stages)->size(), stages + 1);
  }
}

TEST(partition_layers, refuses) {
  EXPECT_EQ(cut("uniform", 6).error().code, error_code::more_stages_than_layers);
  EXPECT_THAT(cut("uniform", 6).error().cause, HasSubstr("6 stages for 5 layers"));
  EXPECT_EQ(cut("uniform", 0).error().code, error_code::value_out_of_range);
  EXPECT_EQ(cut("uniform", limits::stages_max + 1).error().code, error_code::value_out_of_range);
  EXPECT_EQ(cut("balanced", 2).error().code, error_code::flags_contradict);
  EXPECT_EQ(cut("0,5", 2).error().code, error_code::flags_contradict);
  EXPECT_EQ(cut("0,2,4", 2).error().code, error_code::partition_bad_boundaries);
  EXPECT_EQ(cut("0,2,6", 2).error().code, error_code::partition_bad_boundaries);
  EXPECT_EQ(cut("type:transformer", 2).error().code, error_code::partition_no_match);
  EXPECT_THAT(cut("type:transformer", 2).error().cause, HasSubstr("Conv2d x2, ReLU, MaxPool2d, Linear"));
  EXPECT_EQ(cut("type:linear", 2).error().code, error_code::partition_no_match);
  EXPECT_THAT(cut("type:linear", 2).error().cause, HasSubstr("1 layer matches, fewer than the 2 stages"));
  auto layers = lenet();
  layers[3].seconds = std::numeric_limits<double>::quiet_NaN();
  const auto measured = partition_layers(*parse_partition_method("profile"), layers, 2);
  EXPECT_EQ(measured.error().code, error_code::partition_bad_weights);
  EXPECT_THAT(measured.error().cause, HasSubstr("layer 3 weighs nan"));
}

TEST(partition_weights, refuses) {
  const std::vector<double> three{1, 2, 1};
  const auto code = [&](std::string_view method, std::size_t parts) {
    return partition_weights(*parse_partition_method(method), three, parts).error().code;
  };
  EXPECT_EQ(code("auto", 2), error_code::flags_contradict);
  EXPECT_EQ(code("parameters", 2), error_code::flags_contradict);
  EXPECT_EQ(code("type:conv", 2), error_code::flags_contradict);
  EXPECT_EQ(code("profile", 4), error_code::more_stages_than_layers);
  EXPECT_EQ(code("balanced", 0), error_code::value_out_of_range);
  EXPECT_EQ(code("0,4", 1), error_code::partition_bad_boundaries);
}

TEST(type_regex, a_hostile_type_name_is_searched_to_its_limit_only) {
  const std::vector<std::string> names{std::string(5'000'000, 'x'), "conv"};
  EXPECT_EQ(*match_types(".*conv", names), (std::vector<double>{0, 1}));
  EXPECT_LT(list_types(names).size(), 200u);
}

}  // namespace
}  // namespace troupe
