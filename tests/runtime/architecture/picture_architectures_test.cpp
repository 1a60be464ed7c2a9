// Goal: models of pictures give what eager PyTorch gives, have the weights of the published files, and give the same
// bits cut between any two layers. Method: recorded/pictures.json; names and sizes come from the error that lists all
// weights as missing, and are compared by their CRC-32.
#include <algorithm>
#include <numeric>

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "tests/runtime/architecture/recorded_architecture.hpp"

namespace troupe::testing {
namespace {

const nlohmann::json& all_recorded() {
  static const nlohmann::json all = read_recorded_json("pictures");
  return all;
}

class picture_architectures : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    ASSERT_TRUE(all_recorded().contains(GetParam()));
  }

  static const nlohmann::json& recorded() { return all_recorded().at(GetParam()); }

  static expected<operator_graph> make(const state_dict& weights) {
    return recorded().contains("config") ? build(recorded()["config"], weights)
                                         : build_named(GetParam(), "weights.pt", weights, true);
  }

  /// What the last layer has as rows, and the positions of a ViT, are taken from the file.
  static state_dict told_by_the_file() {
    state_dict told;
    if (GetParam() == "vit") told.push_back({"classifier.weight", at::zeros({10, 32})});
    if (GetParam() == "vit_other") told.push_back({"classifier.weight", at::zeros({3, 32})});
    if (GetParam() == "vit_b_32") told.push_back({"encoder.pos_embedding", at::zeros({1, 5, 768})});
    return told;
  }

  /// "layer1.0.conv1.weight [64, 64, 3, 3]", ascending: all that the model takes.
  static std::vector<std::string> names() {
    state_dict told = told_by_the_file();
    const auto model = make(told);
    if (model) throw std::runtime_error("a model without weights");
    std::vector<std::string> names;
    const std::string text = to_string(model.error());
    const std::string begin = "missing: ";
    std::size_t at = text.find(begin) + begin.size();
    for (std::size_t end = 0; (end = text.find(']', at)) != std::string::npos; at = end + 3) {
      names.push_back(text.substr(at, end + 1 - at));
      if (text[end + 1] != ',') break;
    }
    for (const named_tensor& each : told) {
      names.push_back(each.name + " " + nlohmann::json(each.tensor.sizes().vec()).dump());
      std::ranges::replace(names.back(), ',', ';');
    }
    for (std::string& each : names) {
      for (std::size_t in = 0; (in = each.find(';', in)) != std::string::npos;) each.replace(in, 1, ", ");
    }
    std::ranges::sort(names);
    return names;
  }

  static state_dict weights() {
    state_dict made;
    for (const std::string& each : names()) {
      const std::size_t space = each.find(' ');
      const std::string name = each.substr(0, space);
      const auto sizes = nlohmann::json::parse(each.substr(space)).get<std::vector<std::int64_t>>();
      at::Tensor tensor = formula_weight(name, sizes);
      if (sizes.size() >= 2) tensor.mul_(recorded()["gain"].get<double>());
      made.push_back({name, tensor});
    }
    return made;
  }

  static at::Tensor input() { return formula_uniform("input x", recorded()["input"].get<std::vector<std::int64_t>>()); }
};

class picture_outputs : public picture_architectures {};
class picture_cuts : public picture_architectures {};

TEST_P(picture_architectures, take_the_weights_that_are_published) {
  const std::vector<std::string> found = names();
  EXPECT_EQ(found.size(), recorded()["weights"].get<std::size_t>());
  std::string text;
  for (const std::string& each : found) text += (text.empty() ? "" : "\n") + each;
  EXPECT_EQ(crc32_of(text), recorded()["crc"].get<std::uint32_t>()) << text;
}

TEST_P(picture_outputs, give_what_eager_pytorch_gives) {
  const auto model = make(weights());
  ASSERT_TRUE(model) << to_string(model.error());
  const c10::InferenceMode inference;
  const live_values live(*model);
  const at::Tensor out = graph_code(make_part(*model, live, 0, live.steps())).run({input()}).at(0);
  ASSERT_EQ(out.sizes(), recorded()["output_sizes"].get<std::vector<std::int64_t>>());
  const double bound = 1e-5 * recorded()["largest"].get<double>();
  for (std::int64_t row = 0; row < out.size(0); ++row) {
    const at::Tensor eager = at::tensor(recorded()["outputs"][static_cast<std::size_t>(row)].get<std::vector<float>>());
    EXPECT_LE((out[row].narrow(0, 0, eager.numel()) - eager).abs().max().item<double>(), bound);
  }
}

TEST_P(picture_cuts, give_the_same_bits_cut_between_any_two_layers) {
  const auto model = make(weights());
  ASSERT_TRUE(model) << to_string(model.error());
  const c10::InferenceMode inference;
  const layered_graph layers(*model, layer_unit::modules);
  const std::size_t count = layers.layers().size();
  EXPECT_GE(count, 7U);
  const at::Tensor whole = graph_code(layers.part(0, count)).run({input()}).at(0);
  for (std::size_t at = 1; at < count; ++at) {
    ASSERT_TRUE(layers.can_begin(at)) << *layers.objection(at);
    auto between = graph_code(layers.part(0, at)).run({input()});
    const at::Tensor out = graph_code(layers.part(at, count)).run(std::move(between)).at(0);
    EXPECT_TRUE(at::equal(out, whole)) << layer_text(at, layers.layers()[at]);
  }
}

/// Whose positions are those of square pictures of one size.
class picture_sizes : public picture_architectures {};

TEST_P(picture_sizes, are_those_of_the_positions) {
  const auto model = make(weights());
  ASSERT_TRUE(model) << to_string(model.error());
  const c10::InferenceMode inference;
  const live_values live(*model);
  const graph_code code(make_part(*model, live, 0, live.steps()));
  const auto usual = recorded()["input"].get<std::vector<std::int64_t>>();
  const std::int64_t side = usual[2];
  const auto problem_of = [&](std::int64_t height, std::int64_t width) -> std::string {
    try {
      return std::to_string(code.run({at::zeros({usual[0], usual[1], height, width})}).size());
    } catch (const std::exception& problem) {
      return problem.what();
    }
  };
  EXPECT_EQ(problem_of(side, side), "1");
  for (const auto& [height, width] : {std::pair(side / 2, side * 2), {side, side + 1}, {side + 1, side}, {1, 1}}) {
    EXPECT_THAT(problem_of(height, width), ::testing::HasSubstr("unflatten: Provided sizes [" + std::to_string(side)));
  }
}

INSTANTIATE_TEST_SUITE_P(recorded, picture_sizes, ::testing::Values("vit", "vit_other", "vit_b_32"));

TEST(picture_configurations, have_the_sides_of_a_square_as_a_number_or_a_list) {
  nlohmann::json config = all_recorded().at("vit").at("config");
  const auto message = [&](const nlohmann::json& side) {
    config["image_size"] = side;
    return to_string(build(config, {}).error());
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(message({32, 32}), message(32));
  EXPECT_THAT(message(32), HasSubstr("vit.embeddings.position_embeddings [1, 17, 32]"));
  for (const nlohmann::json& other : {nlohmann::json{32, 64}, {32}, {32, 32, 32}}) {
    EXPECT_THAT(message(other), ::testing::AllOf(HasSubstr("E0219"), HasSubstr("image_size: it is no square")));
  }
  EXPECT_THAT(message({0, 0}), HasSubstr("image_size: 0 is no size"));
  EXPECT_THAT(message("32"), HasSubstr("E0210"));
}

std::vector<std::string> recorded_with(const std::string& key) {
  std::vector<std::string> names;
  for (const auto& [name, each] : all_recorded().items()) {
    if (each.contains(key)) names.push_back(name);
  }
  return names;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(recorded, picture_architectures, ::testing::ValuesIn(recorded_with("crc")), name_of);
INSTANTIATE_TEST_SUITE_P(recorded, picture_outputs, ::testing::ValuesIn(recorded_with("outputs")), name_of);
// One of each family.
INSTANTIATE_TEST_SUITE_P(recorded, picture_cuts,
                         ::testing::Values("efficientnet_b0", "efficientnet-lite0", "mobilenet_v2",
                                           "mobilenet_v3_small", "resnet34", "densenet121", "resnet20-cifar", "vit",
                                           "vit_b_32"),
                         name_of);

}  // namespace
}  // namespace troupe::testing
