// Goal: graphs compute what eager PyTorch does, bit for bit, whole, cut at every place, and layer by layer. Method:
// recorded models with the inputs and outputs that eager PyTorch had.
#include <algorithm>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/graph_layers.hpp"
#include "runtime/graph/graph_part.hpp"
#include "runtime/model/output_difference.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "tests/runtime/graph/recorded_model.hpp"

namespace troupe::testing {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;

bool keeps_state(const recorded_model& model) {
  return model.name.find("_state_") != std::string::npos;
}

class recorded_graphs : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& of) {
  std::vector<at::Tensor> made;
  for (const at::Tensor& each : of) made.push_back(faithful_copy(each));
  return made;
}

void expect_same(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& eager, const std::string& where) {
  ASSERT_THAT(found.size(), Eq(eager.size())) << where;
  for (std::size_t at = 0; at < found.size(); ++at)
    EXPECT_TRUE(found[at].equal(eager[at]) && found[at].dtype() == eager[at].dtype()) << where << ", output " << at;
}

std::vector<at::Tensor> run_between(const operator_graph& model, const live_values& live, std::size_t begin,
                                    std::size_t end, std::vector<at::Tensor> inputs) {
  return graph_code(make_part(model, live, begin, end)).run(std::move(inputs));
}

TEST_P(recorded_graphs, whole_and_cut_at_every_place_have_the_bits_of_eager_pytorch) {
  const recorded_model model = read_recorded(GetParam());
  if (keeps_state(model)) GTEST_SKIP() << "what it gives depends on what it got before";
  EXPECT_THAT(model.graph.outputs, Eq(model.outputs));
  std::vector<std::string> inputs;
  for (const graph_input& each : model.graph.inputs) inputs.push_back(each.name);
  EXPECT_THAT(inputs, Eq(model.inputs));
  const c10::InferenceMode inference;
  const live_values live(model.graph);
  for (const recorded_model::batch& batch : model.batches) {
    const std::string size = std::to_string(batch.in.front().size(0)) + " samples";
    expect_same(run_between(model.graph, live, 0, live.steps(), copies(batch.in)), batch.out, size);
    for (std::size_t place = 1; place < live.steps(); ++place) {
      if (live.objection(place)) continue;
      const auto between = run_between(model.graph, live, 0, place, copies(batch.in));
      expect_same(run_between(model.graph, live, place, live.steps(), copies(between)), batch.out,
                  size + ", cut at " + std::to_string(place));
    }
  }
}

TEST_P(recorded_graphs, layers_one_by_one_have_the_bits_of_eager_pytorch) {
  const recorded_model model = read_recorded(GetParam());
  if (keeps_state(model)) GTEST_SKIP() << "what it gives depends on what it got before";
  const c10::InferenceMode inference;
  const live_values live(model.graph);
  const auto layers = find_layers(model.graph, live, layer_unit::modules);
  std::string drawn;
  for (std::size_t at = 0; at < layers.size(); ++at)
    drawn += layer_text(at, layers[at]) + " " + std::to_string(layers[at].parameters) +
             (layers[at].uncut ? " (" + *layers[at].uncut + ")\n" : "\n");
  for (const recorded_model::batch& batch : model.batches) {
    std::vector<at::Tensor> values = copies(batch.in);
    for (const graph_layer& each : layers)
      values = copies(run_between(model.graph, live, each.begin, each.end, values));
    expect_same(values, batch.out, drawn);
  }
}

INSTANTIATE_TEST_SUITE_P(models, recorded_graphs, ::testing::ValuesIn(recorded_models()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace troupe::testing
