// Goal: models that people export (quantized, with a module used twice) give the values of eager PyTorch, alike in
// every layout. Method: the built program on the files of tests/cli/recorded, whose README has PyTorch's values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using json = nlohmann::json;
using words = std::vector<std::string>;

struct recorded_model {
  std::string name;
  int correct;
  double loss;
  /// What kernels of another processor may change: a step of the last scale in every score.
  double tolerance;
};

const std::vector<recorded_model> models = {
    {"static_scripted", 4, 1.62376577, 5e-3},   {"static_traced", 4, 1.62376577, 5e-3},
    {"dynamic_scripted", 10, 1.58978581, 5e-3}, {"dynamic_traced", 10, 1.58978581, 5e-3},
    {"shared_scripted", 9, 1.61900180, 1e-6},   {"shared_traced", 9, 1.61900180, 1e-6},
};

const std::vector<words> layouts = {
    {"--optimize", "none"},
    {"--stages", "2", "--optimize", "graph"},
    {"--stages", "3"},
    {"--stages", "3", "--processes"},
};

std::string recorded(const std::string& name) {
  return std::filesystem::absolute(source_dir() / "tests/cli/recorded" / name).string();
}

program_outcome eval(const std::string& model, const words& more) {
  words arguments = {"eval",
                     "--model",
                     recorded(model + ".pt"),
                     "--data",
                     "npy:" + recorded("inputs.npy") + "," + recorded("labels.npy"),
                     "--threads",
                     "1",
                     "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_troupe({.arguments = std::move(arguments)});
}

class recorded_model_run : public ::testing::TestWithParam<recorded_model> {};

TEST_P(recorded_model_run, gives_the_values_of_eager_pytorch_in_every_layout) {
  const recorded_model& model = GetParam();
  for (const words& layout : layouts) {
    const program_outcome outcome = eval(model.name, layout);
    const std::string place = ::testing::PrintToString(layout);
    ASSERT_EQ(outcome.status, 0) << place << outcome.err;
    const json metrics = json::parse(outcome.out)["metrics"];
    EXPECT_EQ(metrics["accuracy"]["correct"], model.correct) << place;
    EXPECT_NEAR(metrics["cross_entropy"]["mean"].get<double>(), model.loss, model.tolerance) << place;
  }
}

INSTANTIATE_TEST_SUITE_P(all, recorded_model_run, ::testing::ValuesIn(models),
                         [](const auto& row) { return row.param.name; });

TEST(a_quantized_model, is_not_cast_and_the_fix_says_so) {
  const program_outcome outcome = eval("static_scripted", {"--dtype", "float16"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("error E0104"));
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("it is quantized"));
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("fix: leave the dtype out"));
}

}  // namespace
}  // namespace troupe::testing
