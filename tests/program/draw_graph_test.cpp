// Goal: the drawing of a model tells what crosses each cut. Method: recorded models; the outputs that eager PyTorch
// gave, and for single models what follows from their Python source by hand.
#include "program/plan/draw_graph.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/graph/recorded_model.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using shape = std::vector<std::int64_t>;

std::filesystem::path recorded(const std::string& name) {
  return source_dir() / "tests/runtime/graph/recorded" / (name + ".pt");
}

/// With the batch of 2 samples.
drawn_model drawing_of(const std::filesystem::path& file, bool measures = true) {
  recorded_model model = read_recorded(file);
  const layered_graph graph(std::move(model.graph), layer_unit::modules);
  return draw(graph, measures ? *probe_layers(graph, model.batches.front().in) : std::vector<passing_values>());
}

TEST(draw_graph, ends_with_what_eager_pytorch_gave_and_counts_bytes_of_shapes) {
  for (const auto& file : recorded_models()) {
    const drawn_model model = drawing_of(file);
    const auto eager = read_recorded(file).batches.front().out;
    std::uint64_t bytes = 0;
    ASSERT_EQ(model.layers.back().outputs.size(), eager.size()) << file;
    for (std::size_t at = 0; at < eager.size(); ++at) {
      EXPECT_EQ(model.layers.back().outputs[at], eager[at].sizes().vec()) << file;
      bytes += eager[at].nbytes();
    }
    EXPECT_EQ(model.output_bytes, bytes) << file;
    for (std::size_t l = 1; l < model.layers.size(); ++l) {
      EXPECT_TRUE(model.layers[l].before.bytes()) << file << " " << l;
      EXPECT_FALSE(model.layers[l].before.values.empty()) << file << " " << l;
    }
  }
}

const drawn_layer& layer_named(const drawn_model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &drawn_layer::name);
  if (found == model.layers.end()) throw std::runtime_error(name + " is no layer of " + model.file);
  return *found;
}

TEST(draw_graph, skips_of_a_u_net_are_alive_where_they_must) {
  const drawn_model model = drawing_of(recorded("unet_traced"));
  EXPECT_FALSE(is_chain(model));
  // On the way down: the skips of levels 0, 1 and 2, and the last one of these, halved.
  std::vector<shape> shapes;
  for (const crossing_value& each : layer_named(model, "down.2").before.values) shapes.push_back(*each.shape);
  EXPECT_THAT(shapes, ::testing::UnorderedElementsAre(shape{2, 4, 16, 16}, shape{2, 8, 8, 8}, shape{2, 8, 4, 4},
                                                      shape{2, 8, 2, 2}));
  EXPECT_EQ(layer_named(model, "down.2").before.bytes(), 4u * (2 * 4 * 256 + 2 * 8 * 64 + 2 * 8 * 16 + 2 * 8 * 4));
  EXPECT_THAT(layer_named(model, "down.2").inputs, ElementsAre(shape{2, 8, 2, 2})) << "the skips pass by";
  EXPECT_THAT(layer_named(model, "down.2").outputs, ElementsAre(shape{2, 16, 2, 2}));
  EXPECT_EQ(layer_named(model, "head").before.values.size(), 1u);
  EXPECT_EQ(layer_named(model, "merge.2").inputs.size(), 1u);
}

TEST(draw_graph, an_input_that_later_layers_take_passes_by) {
  const drawn_model model = drawing_of(recorded("two_inputs_traced"));
  const auto& before = layer_named(model, "relu").before.values;
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0].made_by, "text");
  EXPECT_FALSE(before[0].layer);
  EXPECT_EQ(before[1].made_by, "left");
  EXPECT_EQ(before[1].layer, 0u);
  EXPECT_EQ(layer_named(model, "left").before.values.size(), 2u) << "both inputs cross the begin";
}

TEST(draw_graph, layers_of_one_model_are_a_chain_and_those_that_stay_whole_say_why) {
  EXPECT_TRUE(is_chain(drawing_of(recorded("resnet_traced"))));
  const drawn_model alias = drawing_of(recorded("alias_traced"));
  const auto whole = std::ranges::find_if(alias.layers, [](const drawn_layer& each) { return !each.uncut.empty(); });
  ASSERT_NE(whole, alias.layers.end());
  EXPECT_THAT(whole->uncut, HasSubstr("may share memory"));
  EXPECT_THAT(whole->uncut, HasSubstr("make_models.py:")) << "the operator's line in the user's Python";
}

TEST(draw_graph, without_a_sample_there_are_values_and_no_sizes) {
  const drawn_model model = drawing_of(recorded("resnet_traced"), false);
  EXPECT_FALSE(model.output_bytes);
  for (const drawn_layer& each : model.layers) {
    ASSERT_EQ(each.before.values.size(), 1u);
    EXPECT_FALSE(each.before.values.front().shape);
    EXPECT_FALSE(each.before.bytes());
    EXPECT_TRUE(each.inputs.empty());
  }
}

}  // namespace
}  // namespace troupe::testing
