#include <set>

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/checkpoint/load_files.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/rewrite/bit_dependence.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include "tests/runtime/architecture/recorded_architecture.hpp"

namespace troupe::testing {
namespace {

/// What PyTorch gave for a model of transformers (recorded/configured.py).
class configured_architectures : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);  // the models are too small for more
    recorded_ = read_recorded_json(GetParam());
    weights_ = formula_weights(recorded_["weights"]);
    is_half_ = recorded_["weights"][0][1] == "bfloat16";
  }

  /// The model for the inputs of a case.
  [[nodiscard]] operator_graph bound(const nlohmann::json& recorded) const {
    auto model = build(recorded_["config"], weights_);
    if (!model) throw std::runtime_error(to_string(model.error()));
    std::set<std::string> given;
    for (const auto& [name, rows] : recorded["inputs"].items()) given.insert(name);
    bind_inputs(*model, given);
    return std::move(*model);
  }

  static std::vector<at::Tensor> inputs(const operator_graph& model, const nlohmann::json& recorded) {
    std::vector<at::Tensor> tensors;
    for (const graph_input& each : model.inputs) tensors.push_back(tensor_of(recorded["inputs"][each.name]));
    return tensors;
  }

  void compare(const std::vector<at::Tensor>& out, const std::vector<std::string>& names,
               const nlohmann::json& recorded) const {
    ASSERT_EQ(names.size(), recorded["outputs"].size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const at::Tensor eager = output_of(recorded["outputs"][names[i]]);
      ASSERT_EQ(out[i].sizes(), eager.sizes()) << names[i];
      EXPECT_EQ(out[i].scalar_type(), is_half_ ? at::kBFloat16 : at::kFloat);
      const double difference = (out[i].to(at::kFloat) - eager).abs().max().item<double>();
      EXPECT_LE(difference, tolerance() * eager.abs().max().item<double>()) << names[i];
    }
  }

  /// Relative to the largest number. bfloat16 has 8 bits, and a few operators round one after the other.
  [[nodiscard]] double tolerance() const { return is_half_ ? 0x1p-6 : 1e-5; }

  nlohmann::json recorded_;
  state_dict weights_;
  bool is_half_ = false;
};

TEST_P(configured_architectures, give_what_transformers_gives) {
  const c10::InferenceMode inference;
  for (const auto& [mask, recorded] : recorded_["cases"].items()) {
    SCOPED_TRACE(mask);
    const operator_graph model = bound(recorded);
    const live_values live(model);
    compare(graph_code(make_part(model, live, 0, live.steps())).run(inputs(model, recorded)), model.outputs, recorded);
  }
}

TEST_P(configured_architectures, give_the_same_bits_cut_between_any_two_layers) {
  const c10::InferenceMode inference;
  for (const auto& [mask, recorded] : recorded_["cases"].items()) {
    const operator_graph model = bound(recorded);
    const std::vector<at::Tensor> in = inputs(model, recorded);
    const layered_graph layers(model, layer_unit::modules);
    const std::size_t count = layers.layers().size();
    const auto whole = graph_code(layers.part(0, count)).run(in);
    for (std::size_t at = 1; at < count; ++at) {
      ASSERT_TRUE(layers.can_begin(at)) << *layers.objection(at);
      auto between = graph_code(layers.part(0, at)).run(in);
      const auto out = graph_code(layers.part(at, count)).run(std::move(between));
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(at::equal(out[i], whole[i])) << mask << ": " << layer_text(at, layers.layers()[at]);
      }
    }
  }
}

TEST_P(configured_architectures, keep_their_values_when_linear_layers_are_packed) {
  const c10::InferenceMode inference;
  for (const auto& [mask, recorded] : recorded_["cases"].items()) {
    SCOPED_TRACE(mask);
    operator_graph model = bound(recorded);
    const std::vector<at::Tensor> in = inputs(model, recorded);
    const rewrite_report report = rewrite_graph(model, rewrite_target::cpu);
    for (const torch::jit::Node* step : steps_of(*model.graph)) {
      EXPECT_STRNE(step->kind().toQualString(), "aten::linear");
    }
    EXPECT_GT(report.packed_linears, 0);
    const auto no_layer = [](torch::jit::Node&) { return std::string("a layer"); };
    EXPECT_EQ(find_bit_dependence(model, 1, no_layer), "nothing");
    EXPECT_EQ(find_bit_dependence(model, 4, no_layer), "nothing");
    const live_values live(model);
    const graph_code code(make_part(model, live, 0, live.steps()));
    const std::vector<at::Tensor> out = code.run(in);
    compare(out, model.outputs, recorded);
    for (std::int64_t row = 0; row < in.front().size(0); ++row) {
      std::vector<at::Tensor> alone;
      for (const at::Tensor& each : in) alone.push_back(each.narrow(0, row, 1));
      const std::vector<at::Tensor> of_row = code.run(alone);
      for (std::size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(at::equal(of_row[i], out[i].narrow(0, row, 1)));
    }
  }
}

TEST_P(configured_architectures, tell_every_weight_that_does_not_fit) {
  const std::string lost = weights_.front().name;
  weights_.front().name = "another.weight";
  weights_.back().tensor = at::zeros({3, 1});
  const auto model = build(recorded_["config"], weights_);
  ASSERT_FALSE(model);
  EXPECT_THAT(to_string(model.error()),
              ::testing::AllOf(::testing::HasSubstr("E0218"), ::testing::HasSubstr("1 missing: " + lost),
                               ::testing::HasSubstr("1 of other sizes: " + weights_.back().name + " has [3, 1]"),
                               ::testing::HasSubstr("1 unexpected: another.weight")));
}

/// A mask of ones changes no bit.
TEST_P(configured_architectures, need_no_mask_where_nothing_is_masked) {
  const c10::InferenceMode inference;
  nlohmann::json recorded = recorded_["cases"]["none"];
  const auto run = [&] {
    const operator_graph model = bound(recorded);
    const live_values live(model);
    return graph_code(make_part(model, live, 0, live.steps())).run(inputs(model, recorded));
  };
  const auto without = run();
  recorded["inputs"]["attention_mask"] = std::vector<std::vector<int>>(3, std::vector<int>(7, 1));
  const auto with = run();
  for (std::size_t i = 0; i < without.size(); ++i) EXPECT_TRUE(at::equal(with[i], without[i]));
}

/// As a file of transformers has them: what creation takes, a later load takes, too.
TEST(weights_that_an_architecture_leaves_out, are_not_unexpected_when_they_are_loaded_later) {
  struct row {
    std::string model;
    std::vector<std::string> beside;
  };
  const std::vector<row> rows = {
      {"bert_masked", {"bert.embeddings.position_ids", "cls.predictions.decoder.bias", "cls.seq_relationship.weight"}},
      {"bert_answer", {"bert.embeddings.position_ids", "cls.predictions.bias", "bert.pooler.dense.weight"}},
      {"gpt2_head", {"transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"}}};
  for (const row& each : rows) {
    SCOPED_TRACE(each.model);
    const nlohmann::json recorded = read_recorded_json(each.model);
    state_dict weights = formula_weights(recorded["weights"]);
    const auto has = [&](const std::string& name) {
      return std::ranges::any_of(weights, [&](const named_tensor& one) { return one.name == name; });
    };
    for (const std::string& name : each.beside) {
      if (!has(name)) weights.push_back({name, at::ones({2})});
    }
    const auto model = build(recorded["config"], weights);
    ASSERT_TRUE(model) << to_string(model.error());
    const auto copied = with_values(*model, *fitted_state(model->weights, {}, weights, true, "first"));
    const auto again = fitted_state(copied.weights, {}, weights, true, "later");
    EXPECT_TRUE(again) << to_string(again.error());
    weights.push_back({"other", at::ones({2})});
    EXPECT_FALSE(fitted_state(copied.weights, {}, weights, true, "later"));
  }
}

INSTANTIATE_TEST_SUITE_P(recorded, configured_architectures,
                         ::testing::Values("bert_base", "bert_types", "bert_classes", "bert_answer", "bert_masked",
                                           "bert_untied", "roberta_base", "roberta_classes", "roberta_answer",
                                           "roberta_masked", "xlm_roberta_masked", "mpnet_base", "mpnet_classes",
                                           "mpnet_masked", "mpnet_long", "distilbert_base", "distilbert_classes",
                                           "distilbert_answer", "distilbert_masked", "gpt2_base", "gpt2_head",
                                           "gpt2_scales", "llama_base", "llama_head", "llama3_head", "llama_linear",
                                           "llama_bfloat16", "qwen2_base", "qwen2_window", "mistral_window",
                                           "mistral_whole"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace troupe::testing
