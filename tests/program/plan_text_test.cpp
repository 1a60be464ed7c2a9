// Goal: what `troupe inspect` and `troupe plan` show of layers and cuts. Method: hand-made summaries of a U-Net with
// skips and of a model with a mask, and the lines and fields that must stand for them.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program/plan/model_drawing.hpp"
#include "program/plan/plan_report.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

crossing_value value(std::string made_by, std::vector<std::int64_t> shape, std::optional<std::size_t> layer = {}) {
  std::uint64_t bytes = 4;
  for (const std::int64_t each : shape) bytes *= static_cast<std::uint64_t>(each);
  return {.made_by = std::move(made_by), .layer = layer, .shape = std::move(shape), .bytes = bytes};
}

/// Down, down, up, up; the skip of the first layer lives until the last.
drawn_model u_net() {
  const crossing_value image = value("x", {1, 3, 8, 8});
  const crossing_value first = value("down1", {1, 16, 8, 8}, 0);
  const crossing_value second = value("down2", {1, 32, 4, 4}, 1);
  const crossing_value third = value("up1", {1, 16, 8, 8}, 2);
  drawn_model model{.file = "unet.pt", .data = "npy:x.npy", .layers = {}};
  model.layers.push_back({"down1", "Down", 448, 448, 1792, {{1, 3, 8, 8}}, {{1, 16, 8, 8}}, "", {{image}}});
  model.layers.push_back({"down2", "Down", 4640, 4640, 18560, {{1, 16, 8, 8}}, {{1, 32, 4, 4}}, "", {{first}}});
  model.layers.push_back({"up1", "Up", 2064, 2064, 8256, {{1, 32, 4, 4}}, {{1, 16, 8, 8}}, "", {{first, second}}});
  model.layers.push_back(
      {"up2", "Up", 33, 0, 132, {{1, 16, 8, 8}, {1, 16, 8, 8}}, {{1, 1, 8, 8}}, "", {{first, third}}});
  return model;
}

TEST(drawing_text, shows_layers_and_what_crosses_behind_them) {
  EXPECT_EQ(drawing_text(u_net(), 200),
            "unet.pt: 4 layers, 7185 parameters (7152 trainable), 28740 bytes of weights\n"
            "\n"
            "layer  name   type  parameters  cut behind  input                        output\n"
            "    0  down1  Down         448    4.00 KiB  [1, 3, 8, 8]                 [1, 16, 8, 8]\n"
            "    1  down2  Down        4640    6.00 KiB  [1, 16, 8, 8]                [1, 32, 4, 4]\n"
            "       └ 2 values, 6.00 KiB: 0 down1, 1 down2\n"
            "    2  up1    Up          2064    8.00 KiB  [1, 32, 4, 4]                [1, 16, 8, 8]\n"
            "       └ 2 values, 8.00 KiB: 0 down1, 2 up1\n"
            "    3  up2    Up            33           -  [1, 16, 8, 8] [1, 16, 8, 8]  [1, 1, 8, 8]\n"
            "\n"
            "3 places to cut, where 4.00 KiB to 8.00 KiB of a sample cross\n");
}

TEST(drawing_text, says_why_layers_cannot_be_separated) {
  drawn_model model = u_net();
  model.layers[2].before.joined_because = "relu_ (model.py:7) writes\nwhat both use";
  model.layers[3].uncut = "a value of type List[Tensor] is in use there";
  model.not_repeatable = {"layer 1 (down2 Down) calls aten::rand"};
  const auto lines = lines_of(drawing_text(model, 200));
  EXPECT_THAT(lines, Contains("       └ no cut here: relu_ (model.py:7) writes\\x0awhat both use"));
  EXPECT_EQ(lines[lines.size() - 5], "       └ one layer: a value of type List[Tensor] is in use there");
  EXPECT_THAT(lines, Contains(HasSubstr(" 4640        none  [1, 16, 8, 8] ")));
  EXPECT_THAT(lines, Contains("2 places to cut, where 4.00 KiB to 8.00 KiB of a sample cross"));
  EXPECT_EQ(lines.back(), "not repeatable (E0216): layer 1 (down2 Down) calls aten::rand");
}

TEST(drawing_text, has_no_line_longer_than_the_width_but_for_a_reason) {
  drawn_model model = u_net();
  model.layers[3].uncut = "two values share memory, and aten::add_ (model.py:7) writes to it";
  EXPECT_THAT(drawing_text(model, 40), HasSubstr("└ one layer: " + model.layers[3].uncut + "\n"));
  for (const std::string& line : lines_of(drawing_text(u_net(), 40))) {
    if (line.starts_with("unet.pt")) continue;
    EXPECT_LE(text_columns(line), 40u) << line;
  }
}

/// Without a sample: no shapes, no bytes.
drawn_model chain() {
  drawn_model model{.file = "m.pt", .data = {}, .layers = {}};
  model.layers.push_back({.name = "a", .type = "Linear", .parameters = 6, .before = {.values = {{"x"}}}});
  model.layers.push_back({.name = "b", .type = "ReLU", .before = {.values = {{"a"}}}});
  return model;
}

TEST(drawing_text, calls_a_chain_what_is_one) {
  EXPECT_TRUE(is_chain(chain()));
  EXPECT_FALSE(is_chain(u_net()));
  EXPECT_THAT(drawing_text(chain(), 100), StartsWith("m.pt: a chain of 2 layers, 6 parameters"));
  EXPECT_THAT(drawing_text(chain(), 100), EndsWith("\n1 place to cut\n"));
  drawn_model skipping = chain();
  skipping.layers[1].before.values[0].made_by = "x";
  EXPECT_FALSE(is_chain(skipping)) << "the second layer does not take what the first makes";
  drawn_model joined = chain();
  joined.layers[1].before.joined_because = "b writes its input";
  EXPECT_FALSE(is_chain(joined));
}

TEST(drawing_json, has_all_of_it) {
  const json drawn = json::parse(drawing_json(u_net()));
  EXPECT_EQ(drawn["model"], "unet.pt");
  EXPECT_EQ(drawn["data"], "npy:x.npy");
  ASSERT_EQ(drawn["layers"].size(), 4u);
  const json& up = drawn["layers"][3];
  EXPECT_EQ(up["inputs"], json::parse("[[1,16,8,8],[1,16,8,8]]"));
  EXPECT_EQ(up["cut_before"]["bytes"], 8192);
  EXPECT_EQ(up["cut_before"]["values"][1],
            json::parse(R"({"made_by":"up1","layer":2,"shape":[1,16,8,8],"bytes":4096})"));
  EXPECT_TRUE(up["cut_before"]["joined_because"].is_null());
  const json bare = json::parse(drawing_json(chain()));
  EXPECT_TRUE(bare["data"].is_null());
  EXPECT_TRUE(bare["layers"][1]["cut_before"]["bytes"].is_null());
  EXPECT_TRUE(bare["layers"][1]["cut_before"]["values"][0]["shape"].is_null());
}

TEST(crossing_text, names_each_maker_once_and_not_all_of_many) {
  crossing place;
  EXPECT_EQ(crossing_text(place), "0 values, 0 B");
  place.values = {{"lstm"}, {"lstm"}, {"mask"}};
  EXPECT_EQ(crossing_text(place), "3 values: lstm, mask");
  for (int i = 0; i < 40; ++i) place.values.push_back({"m" + std::to_string(i)});
  EXPECT_THAT(crossing_text(place), EndsWith("m5 and 34 more"));
}

TEST(crossing_text, numbers_layers_and_shows_the_end_of_long_paths) {
  crossing place;
  place.values = {{"mask"}, {"3", 3}, {"4", 5}, {"bert.encoder.layer.1.attention.output.LayerNorm", 12}};
  EXPECT_EQ(crossing_text(place), "4 values: mask, layer 3, 5 4, 12 …1.attention.output.LayerNorm");
  EXPECT_EQ(path_end("a.b", 3), "a.b");
  EXPECT_EQ(path_end("aa.b", 3), "…b");
  EXPECT_EQ(path_end("aaaa", 3), "…a…");
}

TEST(bytes_text, in_the_unit_that_fits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(3 << 19), "1.50 MiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 40), "5.00 TiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 50), "5120.00 TiB");
}

plan_report plan_of_u_net() {
  plan_report plan;
  plan.model = "unet.pt";
  plan.partition = "auto";
  plan.cut_by = "profile";
  plan.boundaries = {0, 1, 4};
  plan.stages.resize(2);
  plan.stages[0].layers = {"0 Down"};
  plan.stages[1].layers = {"1 Down", "2 Up", "3 Up"};
  for (planned_stage& each : plan.stages) each.crossing_seconds = 1e-4;
  plan.cuts = {{.layer = 1, .values = {{value("down1", {2, 16, 8, 8}, 0)}}}};
  plan.methods = {{"profile", {0, 1, 4}, 3.1e-3, 8192},
                  {"parameters", {0, 2, 4}, 4e-3, 12288},
                  {"uniform", {0, 1, 4}, 3.1e-3, 8192}};
  plan.micro_batch = 2;
  return plan;
}

TEST(plan_text, compares_methods_and_shows_what_crosses) {
  const auto lines = lines_of(plan_text(plan_of_u_net(), 200));
  EXPECT_THAT(lines, Contains("slowest     3.1 ms, 8.00 KiB cross the cuts"));
  EXPECT_THAT(lines, Contains("others      parameters 4 ms, 12.00 KiB"));
  EXPECT_THAT(lines, Contains("               1  1 value, 8.00 KiB: 0 down1"));
  plan_report bare = plan_of_u_net();
  bare.methods.clear();
  EXPECT_THAT(plan_text(bare, 200), Not(HasSubstr("slowest  ")));
}

TEST(plan_json, has_cuts_and_methods) {
  const json plan = json::parse(plan_json(plan_of_u_net()));
  EXPECT_EQ(plan["cuts"], json::parse(R"([{"layer":1,"bytes":8192,
      "values":[{"made_by":"down1","layer":0,"bytes":8192}]}])"));
  ASSERT_EQ(plan["methods"].size(), 3u);
  EXPECT_EQ(plan["methods"][1], json::parse(R"({"partition":"parameters","boundaries":[0,2,4],"slowest_seconds":0.004,
      "bytes":12288})"));
  EXPECT_EQ(plan["stages"][0]["crossing_seconds"], 1e-4);
}

}  // namespace
}  // namespace troupe
