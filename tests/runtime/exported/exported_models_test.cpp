// Goal: a model from torch.export computes the bits of eager PyTorch, at the batch size of its export and at another
// one, and its inputs, outputs, modules and source lines have the names of the user's code. Method: models recorded in
// Python with their eager results (recorded/make_models.py); LibTorch's own executor as a second opinion.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/nativert/ModelRunnerHandle.h>

#include "exported_files.hpp"
#include "runtime/exported/read_exported.hpp"
#include "runtime/graph/module_scope.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

operator_graph read_model(const std::string& name) {
  auto read = read_file(recorded_file(name + ".pt2"));
  EXPECT_TRUE(read) << (read ? "" : to_string(read.error()));
  operator_graph none;
  none.graph = std::make_shared<torch::jit::Graph>();
  return read ? std::move(*read) : none;
}

std::vector<std::string> input_names(const operator_graph& model) {
  std::vector<std::string> names;
  for (const graph_input& each : model.inputs) names.push_back(each.name);
  return names;
}

class recorded_model : public ::testing::TestWithParam<const char*> {};

TEST_P(recorded_model, has_the_bits_of_eager_pytorch) {
  const operator_graph model = read_model(GetParam());
  ASSERT_EQ(model.graph->inputs().size(), model.inputs.size());
  ASSERT_EQ(model.graph->outputs().size(), model.outputs.size());
  const auto calls = recorded_calls(GetParam());
  ASSERT_FALSE(calls.empty());
  for (const recorded_call& each : calls) {
    const auto outputs = run_graph(model, each.inputs);
    ASSERT_EQ(outputs.size(), each.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(equals_in_bits(outputs[i], each.outputs[i])) << GetParam() << ", output " << model.outputs[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, recorded_model,
                         ::testing::Values("tied_mlp", "skip_cnn", "unet", "lstm", "branch", "loop", "mixed", "wide",
                                           "fixed", "several", "nested", "bert", "gpt2"));

class model_of_libtorch : public ::testing::TestWithParam<const char*> {};

TEST_P(model_of_libtorch, agrees) {
  const operator_graph model = read_model(GetParam());
  torch::nativert::ModelRunnerHandle other(recorded_file(std::string(GetParam()) + ".pt2").string(), "model");
  for (const recorded_call& each : recorded_calls(GetParam())) {
    const auto outputs = run_graph(model, each.inputs);
    const auto others = other.runWithFlatInputsAndOutputs({each.inputs.begin(), each.inputs.end()});
    ASSERT_EQ(outputs.size(), others.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(equals_in_bits(outputs[i], others[i].toTensor()));
  }
}

// It does not load dataclasses of transformers, counts other inputs where one was a constant of the export, and has
// other bits than eager PyTorch for weights of 16 bits.
INSTANTIATE_TEST_SUITE_P(all, model_of_libtorch,
                         ::testing::Values("tied_mlp", "skip_cnn", "unet", "lstm", "branch", "loop", "wide", "fixed"));

TEST(exported, inputs_have_the_names_of_arguments) {
  EXPECT_THAT(input_names(read_model("bert")), ElementsAre("input_ids", "attention_mask"));
  EXPECT_THAT(input_names(read_model("several")), ElementsAre("x", "weight", "mask"));
  EXPECT_THAT(input_names(read_model("nested")), ElementsAre("x", "pair.a", "pair.b", "rest_0", "rest_1", "steps"));
}

TEST(exported, outputs_have_the_names_of_the_users_structure) {
  EXPECT_THAT(read_model("bert").outputs, ElementsAre("last_hidden_state", "pooler_output"));
  EXPECT_THAT(read_model("several").outputs, ElementsAre("all", "parts.0", "parts.1"));
  EXPECT_THAT(read_model("loop").outputs, ElementsAre("0", "1"));
  EXPECT_THAT(read_model("unet").outputs, ElementsAre(""));
  EXPECT_THAT(read_model("nested").outputs, ElementsAre("sum", "rows", "more.first", "more.second"));
}

TEST(exported, sizes_are_arguments_with_a_value_of_their_own) {
  const operator_graph model = read_model("nested");
  ASSERT_THAT(model.inputs, SizeIs(6));
  ASSERT_TRUE(model.inputs[5].otherwise);
  EXPECT_EQ(model.inputs[5].otherwise->toInt(), 4);
  EXPECT_FALSE(model.inputs[0].otherwise);
}

TEST(exported, batch_is_fixed_where_the_export_fixed_it) {
  EXPECT_EQ(fixed_batch(read_model("fixed").inputs.at(0)), 3);
  EXPECT_EQ(fixed_batch(read_model("unet").inputs.at(0)), std::nullopt);
  EXPECT_EQ(fixed_batch(read_model("several").inputs.at(1)), 4);
}

TEST(exported, sizes_of_inputs_are_those_of_the_export) {
  const auto sizes = read_model("unet").inputs.at(0).sizes;
  ASSERT_TRUE(sizes);
  ASSERT_THAT(*sizes, SizeIs(4));
  EXPECT_EQ(sizes->at(0).min, 0) << "a minimum of 2 is none";
  EXPECT_EQ(sizes->at(0).max, 64);
  EXPECT_EQ(sizes->at(1), (size_range{.min = 1, .max = 1}));
  exported_content changed = content_of("unet");
  nlohmann::json program = changed.json("models/model.json");
  for (nlohmann::json& each : program["range_constraints"]) each = {{"min_val", 3}, {"max_val", 9}};
  changed.set("models/model.json", program);
  const written_file file(changed.zip());
  EXPECT_EQ(read_file(file.path())->inputs.at(0).sizes->at(0), (size_range{.min = 3, .max = 9}));
}

/// The calls that the steps of a model are part of, one after the other.
std::vector<std::string> calls_in(const operator_graph& model) {
  std::vector<std::string> calls;
  torch::jit::ScopePtr last;
  for (torch::jit::Node* each : steps_of(*model.graph)) {
    if (each->scope() == last) continue;
    last = each->scope();
    const module_call call = call_of(*last);
    calls.push_back(call.path + " " + call.type);
  }
  return calls;
}

TEST(exported, operators_belong_to_the_calls_of_modules) {
  EXPECT_THAT(calls_in(read_model("skip_cnn")),
              ElementsAre("stem Conv2d", "block.conv1 Conv2d", "block.bn1 BatchNorm2d", "block Block",
                          "block.conv2 Conv2d", "block.bn2 BatchNorm2d", "block Block", "again.conv1 Conv2d",
                          "again.bn1 BatchNorm2d", "again Block", "again.conv2 Conv2d", "again.bn2 BatchNorm2d",
                          "again Block", "again.conv1 Conv2d", "again.bn1 BatchNorm2d", "again Block",
                          "again.conv2 Conv2d", "again.bn2 BatchNorm2d", "again Block", " SkipCnn", "head Linear"));
}

TEST(exported, two_calls_of_a_module_are_two_scopes) {
  const operator_graph model = read_model("skip_cnn");
  std::vector<const torch::jit::Scope*> calls;
  for (torch::jit::Node* each : steps_of(*model.graph)) {
    for (auto scope = each->scope(); !scope->isRoot(); scope = scope->parent()) {
      const bool is_new = calls.empty() || calls.back() != scope.get();
      if (is_new && call_of(*scope).path == "again") calls.push_back(scope.get());
    }
  }
  EXPECT_THAT(calls, SizeIs(2));
}

TEST(exported, operators_have_their_line_in_the_users_python) {
  const operator_graph cnn = read_model("skip_cnn");
  for (torch::jit::Node* each : steps_of(*cnn.graph)) {
    EXPECT_THAT(place_in_source(*each), HasSubstr(" (make_models.py:")) << each->kind().toQualString();
  }
  const operator_graph bert = read_model("bert");
  std::set<std::string> places;
  for (torch::jit::Node* each : steps_of(*bert.graph)) places.insert(place_in_source(*each));
  std::size_t of_the_model = 0;
  for (const std::string& each : places)
    of_the_model += each.find("transformers/models/bert/modeling_bert.py:") != each.npos;
  EXPECT_GE(of_the_model, 10U);
}

/// The constants of a graph that are tensors.
std::vector<at::Tensor> weights_of(const operator_graph& model) {
  std::vector<at::Tensor> weights;
  for (const torch::jit::Node* each : model.graph->nodes()) {
    if (each->kind() != c10::prim::Constant) continue;
    const auto value = torch::jit::toIValue(each->output());
    if (value && value->isTensor()) weights.push_back(value->toTensor());
  }
  return weights;
}

TEST(exported, tied_weights_share_memory_and_all_are_aligned) {
  // The export names one of the two weights in both layers; here each layer names its own again.
  exported_content content = content_of("tied_mlp");
  nlohmann::json program = content.json(program_name);
  nlohmann::json& nodes = graph_of(program).at("nodes");
  const auto first =
      std::ranges::find(nodes, "torch.ops.aten.linear.default", [](const auto& each) { return each.at("target"); });
  ASSERT_NE(first, nodes.end());
  first->at("inputs").at(1).at("arg").at("as_tensor").at("name") = "p_first_weight";
  content.set(program_name, program);
  const written_file file(content.zip());
  const auto model = read_file(file.path());
  ASSERT_TRUE(model) << to_string(model.error());
  std::map<const void*, std::size_t> users;
  for (const at::Tensor& each : weights_of(*model)) {
    ++users[each.storage().data()];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(each.storage().data()) % 64, 0U);
  }
  EXPECT_EQ(users.size(), 6U);
  EXPECT_EQ(std::ranges::count_if(users, [](const auto& each) { return each.second == 2; }), 1);
}

TEST(exported, weights_are_known_as_parameters_and_buffers) {
  const operator_graph model = read_model("tied_mlp");
  std::map<weight_kind, std::set<const c10::TensorImpl*>> kinds;
  for (const graph_weight& each : model.weights) kinds[each.kind].insert(each.tensor.unsafeGetTensorImpl());
  EXPECT_EQ(kinds[weight_kind::trainable].size(), 3);
  EXPECT_EQ(kinds[weight_kind::buffer].size(), 2);
}

TEST(exported, control_flow_stays_inside_of_one_step) {
  const auto kinds = [](const operator_graph& model) {
    std::vector<c10::Symbol> found;
    for (torch::jit::Node* each : steps_of(*model.graph)) found.push_back(each->kind());
    return found;
  };
  EXPECT_THAT(kinds(read_model("branch")), ::testing::Contains(c10::prim::If));
  EXPECT_THAT(kinds(read_model("loop")), ::testing::Contains(c10::prim::Loop));
}

TEST(exported, is_known_by_the_names_of_entries) {
  const auto is_known = [](const std::vector<std::string>& names) {
    archive_file file{.name = "model", .stream = {}, .entries = {}};
    for (const std::string& each : names) file.entries.push_back({.name = each});
    return is_exported(file);
  };
  EXPECT_TRUE(is_known({"m/archive_format", "m/models/model.json", "m/data/weights/weight_0"}));
  EXPECT_TRUE(is_known({"version", "serialized_exported_program.json"}));
  EXPECT_TRUE(is_known({"m/data/aotinductor/model/x.so", "m/byteorder"}));
  EXPECT_FALSE(is_known({"m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"}));
  EXPECT_FALSE(is_known({"m/data.pkl", "m/data/0", "m/version"}));
  EXPECT_FALSE(is_known({}));
}

}  // namespace
}  // namespace troupe::testing
