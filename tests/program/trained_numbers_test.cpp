// Goal: the first steps of models from files give the numbers of PyTorch in Python, in two stages and two replicas.
// Method: recorded_training/record.py has trained the same files on the same data.
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/program/trained_runs.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

using nlohmann::json;

constexpr double tolerance = 1e-6;

std::filesystem::path folder() {
  return source_dir() / "tests/program/recorded_training";
}

std::filesystem::path file_of(const std::string& model) {
  if (model == "lenet") return data_dir() / "mnist/lenet.pt";
  if (model == "resnet20") return data_dir() / "cifar10/resnet20.pt";
  return folder() / (model + ".pt2");
}

batch batch_of(const std::string& model, const std::string& name, std::int64_t rows) {
  if (model == "mlp") return {formula_uniform(name + ".x", {rows, 12}), formula_below(name + ".y", {rows}, 5)};
  if (model == "gpt") return {formula_below(name + ".x", {rows, 8}, 17), formula_below(name + ".y", {rows, 8}, 17)};
  const std::int64_t channels = model == "lenet" ? 1 : 3;
  const std::int64_t size = model == "lenet" ? 28 : 32;
  return {formula_uniform(name + ".x", {rows, channels, size, size}), formula_below(name + ".y", {rows}, 10)};
}

data_iterator batches_of(const std::string& model) {
  return [model, next = 0]() mutable -> std::optional<batch> {
    const int step = next / 3;
    const int index = next++ % 3;
    return batch_of(model, model + "." + std::to_string(step) + "." + std::to_string(index), index == 2 ? 3 : 4);
  };
}

class trained_numbers : public ::testing::TestWithParam<const char*> {};

expected<std::unique_ptr<training_engine>> engine_of(const std::string& model, const training_engine_options& how) {
  if (model != "resnet20_arch") return training_engine::create(file_of(model).string(), how);
  return training_engine::create(
      model_with_weights{.arch = "resnet20-cifar", .weights = (data_dir() / "cifar10/resnet20.th").string()}, how);
}

TEST_P(trained_numbers, are_those_of_python) {
  const std::string given = GetParam();
  const std::string model = given.substr(0, given.find('_'));
  std::ifstream recorded(folder() / "training.json");
  const json all = json::parse(recorded);
  const auto found = std::ranges::find_if(all["cases"], [&](const json& each) { return each["model"] == model; });
  ASSERT_NE(found, all["cases"].end());
  training_engine_options how;
  how.training.num_micro_batches = 3;
  how.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  how.training.learning_rate = [](std::uint64_t) { return 1e-3; };
  how.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  how.pipeline.stages = 2;
  how.pipeline.replicas = 2;
  how.pipeline.run.threads = 1;
  const auto engine = engine_of(given, how);
  ASSERT_TRUE(engine) << to_string(engine.error());
  (*engine)->set_dataiterator(batches_of(model));
  const trained_outcome made = train(**engine, (*found)["losses"].size());
  for (std::size_t step = 0; step < made.losses.size(); ++step) {
    const auto wanted = (*found)["losses"][step].get<double>();
    EXPECT_NEAR(made.losses[step], wanted, tolerance * wanted) << "step " << step;
  }
  if (given != model) return;  // other names
  std::size_t compared = 0;
  for (const named_tensor& each : made.weights) {
    if (!(*found)["rms"].contains(each.name)) continue;
    const auto wanted = (*found)["rms"][each.name].get<double>();
    EXPECT_NEAR(each.tensor.to(at::kDouble).square().mean().sqrt().item<double>(), wanted, tolerance * wanted)
        << each.name;
    ++compared;
  }
  EXPECT_EQ(compared, (*found)["rms"].size());
}

INSTANTIATE_TEST_SUITE_P(models, trained_numbers, ::testing::Values("mlp", "gpt", "lenet", "resnet20", "resnet20_arch"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace troupe::testing
