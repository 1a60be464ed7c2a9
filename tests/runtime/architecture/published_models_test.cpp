#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "tests/runtime/architecture/recorded_architecture.hpp"

namespace troupe::testing {
namespace {

/// The sizes that models are published with, without values (recorded/published.py).
class published_models : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    recorded_ = read_recorded_json("published")[GetParam()];
    for (const auto& each : recorded_["weights"]) {
      const auto sizes = each[1].get<std::vector<std::int64_t>>();
      weights_.push_back({each[0].get<std::string>(), at::empty(sizes, at::device(at::kMeta))});
    }
  }

  nlohmann::json recorded_;
  state_dict weights_;
};

TEST_P(published_models, have_exactly_the_weights_of_transformers) {
  auto model = build(recorded_["config"], weights_);
  ASSERT_TRUE(model) << to_string(model.error());
  bind_inputs(*model, {});
  std::uint64_t parameters = 0;
  std::set<const c10::TensorImpl*> seen;
  for (const graph_weight& each : model->weights) {
    if (seen.insert(each.tensor.unsafeGetTensorImpl()).second)
      parameters += static_cast<std::uint64_t>(each.tensor.numel());
  }
  for (const named_tensor& each : weights_) EXPECT_NE(model->weights.find(each.name), nullptr) << each.name;
  EXPECT_EQ(parameters, recorded_["parameters"].get<std::uint64_t>());
}

TEST_P(published_models, have_the_layers_that_people_know) {
  auto model = build(recorded_["config"], weights_);
  ASSERT_TRUE(model) << to_string(model.error());
  bind_inputs(*model, {"attention_mask"});
  const layered_graph layers(std::move(*model), layer_unit::modules);
  std::vector<std::string> names;
  for (const graph_layer& each : layers.layers()) names.push_back(each.name);
  std::set<std::string> blocks;
  for (const auto& each : weights_) {
    const auto number = each.name.find_first_of("0123456789");
    if (number != std::string::npos) blocks.insert(each.name.substr(0, each.name.find('.', number)));
  }
  EXPECT_GE(blocks.size(), 6);
  for (const std::string& each : blocks) EXPECT_THAT(names, ::testing::Contains(each));
  for (std::size_t at = 1; at < names.size(); ++at) EXPECT_TRUE(layers.can_begin(at)) << names[at];
  EXPECT_LE(names.size(), blocks.size() + 8) << ::testing::PrintToString(names);
}

INSTANTIATE_TEST_SUITE_P(recorded, published_models,
                         ::testing::Values("bert-base-uncased", "all-MiniLM-L6-v2", "roberta-base", "all-mpnet-base-v2",
                                           "distilbert-base-uncased", "gpt2", "Llama-3.2-1B", "Qwen2-0.5B",
                                           "Mistral-7B-v0.1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](unsigned char one) { return std::isalnum(one) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace troupe::testing
