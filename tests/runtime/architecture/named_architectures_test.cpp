#include <fstream>

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/architecture/architecture.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/graph_part.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What eager PyTorch gave for a model of this name (recorded/named.py).
class named_architectures : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream file(source_dir() / "tests/runtime/architecture/recorded" / (GetParam() + ".json"));
    recorded_ = nlohmann::json::parse(file);
    for (const auto& each : recorded_["weights"]) {
      const auto sizes = each[2].get<std::vector<std::int64_t>>();
      const auto name = each[0].get<std::string>();
      const bool is_count = each[1] != "float32";
      weights_.push_back({name, is_count ? at::zeros(sizes, at::kLong) : formula_weight(name, sizes)});
    }
  }

  nlohmann::json recorded_;
  state_dict weights_;
};

TEST_P(named_architectures, give_what_eager_pytorch_gives) {
  const auto model = build_named(GetParam(), "weights.pt", weights_, true);
  ASSERT_TRUE(model) << to_string(model.error());
  const c10::InferenceMode inference;
  const at::Tensor x = formula_uniform("input x", recorded_["input"].get<std::vector<std::int64_t>>());
  const live_values live(*model);
  const auto out = graph_code(make_part(*model, live, 0, live.steps())).run({x}).at(0);
  const auto values = recorded_["output"].get<std::vector<float>>();
  const at::Tensor eager = at::tensor(values).view(recorded_["output_sizes"].get<std::vector<std::int64_t>>());
  ASSERT_EQ(out.sizes(), eager.sizes());
  EXPECT_LE((out - eager).abs().max().item<double>(), 1e-5 * eager.abs().max().item<double>());
}

TEST_P(named_architectures, tell_every_weight_that_does_not_fit) {
  const std::string lost = weights_.front().name;
  weights_.front().name = "another.weight";
  weights_.back().tensor = at::zeros({3});
  const auto model = build_named(GetParam(), "weights.pt", weights_, true);
  ASSERT_FALSE(model);
  EXPECT_THAT(to_string(model.error()), AllOf(HasSubstr("E0218"), HasSubstr("1 missing: " + lost),
                                              HasSubstr("1 of other sizes: " + weights_.back().name + " has [3]"),
                                              HasSubstr("1 unexpected: another.weight")));
}

INSTANTIATE_TEST_SUITE_P(recorded, named_architectures, ::testing::Values("resnet18", "resnet50", "resnext50_32x4d"),
                         [](const auto& info) { return info.param; });

TEST(build_named, names_what_there_is) {
  const auto model = build_named("resnet19", "weights.pt", {}, true);
  ASSERT_FALSE(model);
  EXPECT_THAT(to_string(model.error()), AllOf(HasSubstr("E0219"), HasSubstr("resnet18, resnet20-cifar")));
}

}  // namespace
}  // namespace troupe::testing
