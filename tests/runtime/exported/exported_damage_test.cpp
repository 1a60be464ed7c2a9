// Goal: archives that are cut off, altered, incomplete, or unpack to far more than they have, and programs with a value
// of another type or with flipped bytes, give an error or a graph, within the memory that is promised.
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/packed_item.hpp"
#include "../../support/sanitized.hpp"
#include "exported_files.hpp"

namespace troupe::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(hostile_archive, lacks_records) {
  for (const char* name : {weights_name, "data/constants/model_constants_config.json", "data/weights/weight_0"}) {
    exported_content content = content_of("tied_mlp");
    ASSERT_EQ(content.entries.erase(name), 1U) << name;
    EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr("error E0210")) << name;
  }
  exported_content content = content_of("tied_mlp");
  content.entries.erase(program_name);
  EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr("error E0207"));
}

TEST(hostile_archive, is_truncated_or_altered) {
  const std::string whole = content_of("tied_mlp").zip();
  for (std::size_t size = 0; size < whole.size(); size += 211) {
    EXPECT_THAT(outcome_of(whole.substr(0, size)), HasSubstr("error E02")) << size;
  }
  const std::size_t weight = whole.find("data/weights/weight_0") + std::string("data/weights/weight_0").size();
  for (std::size_t at = weight; at < weight + 256; at += 17) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    EXPECT_THAT(outcome_of(altered), HasSubstr("error E0213")) << at;
  }
}

TEST(hostile_archive, has_two_entries_of_one_name) {
  const exported_content content = content_of("tied_mlp");
  std::vector<zip_item> items;
  for (const auto& [name, bytes] : content.entries) items.push_back(stored("m/" + name, bytes));
  items.push_back(stored("m/data/weights/weight_0", content.entries.at("data/weights/weight_0")));
  EXPECT_THAT(bounded_outcome(zip_file(items)), HasSubstr("error E0210"));
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(hostile_archive, unpacks_to_far_more_than_it_has) {
  for (const std::string& text : {"[" + repeated("[],", 4 << 20) + "1]", "[" + repeated("{\"a\":0},", 1 << 20) + "1]",
                                  "{\"a\":\"" + std::string(100 << 20, 'a') + "\"}", repeated("[", 10 << 20),
                                  "[" + repeated("0,", 7 << 20) + "1]"}) {
    EXPECT_THAT(
        bounded_outcome(zip_file({packed_item("m/models/model.json", text), stored("m/archive_format", "pt2")})),
        HasSubstr("error E0214"));
  }
}

TEST(hostile_archive, has_a_packed_weight) {
  const exported_content content = content_of("tied_mlp");
  std::vector<zip_item> items;
  for (const auto& [name, bytes] : content.entries) {
    const bool is_weight = name == "data/weights/weight_0";
    items.push_back(is_weight ? packed_item("m/" + name, bytes) : stored("m/" + name, bytes));
  }
  EXPECT_THAT(bounded_outcome(zip_file(items)), HasSubstr("packed entry data/weights/weight_0"));
}

TEST(hostile_archive, has_a_program_that_is_no_json) {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("{\"a\": \xff}"),
        std::string("{\"a\": 1e999}"), std::string(100, '\0')}) {
    exported_content content = content_of("tied_mlp");
    content.entries[program_name] = text;
    EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr("error E0210")) << text;
  }
}

json relu_node(const std::string& from, const std::string& to) {
  return {{"target", "torch.ops.aten.relu.default"},
          {"metadata", json::object()},
          {"inputs", json::array({{{"name", "self"}, {"arg", {{"as_tensor", {{"name", from}}}}}}})},
          {"outputs", json::array({{{"as_tensor", {{"name", to}}}}})}};
}

/// As many operators as the memory allows: their graph, their text and its values are all there at once.
std::string outcome_of_many(const std::vector<json>& nodes, const std::string& result) {
  exported_content content = content_of("tied_mlp");
  json program = content.json(program_name);
  json& all = graph_of(program)["nodes"];
  for (const json& each : nodes) all.push_back(each);
  program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = result;
  content.set(program_name, program);
  return bounded_outcome(content.zip());
}

TEST(hostile_archive, has_many_operators_in_a_row) {
  std::vector<json> nodes;
  for (int i = 0; i < 12000; ++i)
    nodes.push_back(relu_node(i == 0 ? "x" : "r" + std::to_string(i - 1), "r" + std::to_string(i)));
  EXPECT_EQ(outcome_of_many(nodes, "r11999"), "good");
}

TEST(hostile_archive, has_many_values_that_live_to_the_end) {
  std::vector<json> nodes;
  json together = relu_node("x", "all");
  together["target"] = "torch.ops.aten.cat.default";
  json list = json::array();
  for (int i = 0; i < 12000; ++i) {
    nodes.push_back(relu_node("x", "r" + std::to_string(i)));
    list.push_back({{"name", "r" + std::to_string(i)}});
  }
  together["inputs"] = json::array({{{"name", "tensors"}, {"arg", {{"as_tensors", list}}}}});
  nodes.push_back(together);
  EXPECT_EQ(outcome_of_many(nodes, "all"), "good");
}

/// All places in a document.
void collect(json& value, std::vector<json*>& places) {
  places.push_back(&value);
  if (!value.is_structured()) return;
  for (json& each : value) collect(each, places);
}

TEST(hostile_program, has_a_value_of_another_type_anywhere) {
  const std::vector<json> others{nullptr,
                                 true,
                                 -1,
                                 1.5,
                                 std::numeric_limits<std::uint64_t>::max(),
                                 "text",
                                 json::array(),
                                 json::object(),
                                 json::array({1}),
                                 json::object({{"as_int", 1}})};
  const exported_content good = content_of("branch");
  const json original = good.json(program_name);
  json program = original;
  std::vector<json*> places;
  collect(program, places);
  std::size_t refused = 0;
  std::mt19937 random(7);
  const std::size_t step = sanitized ? 9 : 1;
  for (std::size_t i = 0; i < places.size(); i += step) {
    json kept = std::move(*places[i]);
    *places[i] = others[random() % others.size()];
    exported_content content = good;
    content.set(program_name, program);
    refused += outcome_of(content.zip()) == "good" ? 0 : 1;
    *places[i] = std::move(kept);
  }
  ASSERT_EQ(program, original);
  EXPECT_GT(refused, places.size() / step / 4);
}

TEST(hostile_program, has_flipped_bytes) {
  std::size_t refused = 0;
  std::mt19937 random(11);
  const int rounds = sanitized ? 60 : 200;
  for (const char* model : {"loop", "nested", "several"}) {
    const exported_content good = content_of(model);
    for (int round = 0; round < rounds; ++round) {
      exported_content content = good;
      std::string& text = content.entries.at(program_name);
      for (int flip = 0; flip <= round % 3; ++flip) {
        char& byte = text[random() % text.size()];
        byte = static_cast<char>(byte ^ static_cast<char>(1U << random() % 7));
      }
      refused += outcome_of(content.zip()) == "good" ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace troupe::testing
