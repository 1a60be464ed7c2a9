// Goal: the first steps of training give the numbers of PyTorch in Python. Method: recorded/record.py has trained the
// same models on the same data; weights and losses agree within 1e-6.
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using nlohmann::json;

constexpr double tolerance = 1e-6;

json read_recorded() {
  std::ifstream file(source_dir() / "tests/runtime/training/recorded/training.json");
  return json::parse(file);
}

std::vector<layer_spec> layers_of(const std::string& model) {
  if (model == "mlp") return mlp_layers();
  if (model == "lenet") return lenet_layers();
  return model == "gpt" ? gpt_layers() : resnet20_layers();
}

plain_batch batch_of(const std::string& model, const std::string& name, std::int64_t rows) {
  if (model == "mlp") return {formula_uniform(name + ".x", {rows, 12}), formula_below(name + ".y", {rows}, 5)};
  if (model == "lenet")
    return {formula_uniform(name + ".x", {rows, 1, 28, 28}), formula_below(name + ".y", {rows}, 10)};
  if (model == "gpt") return {formula_below(name + ".x", {rows, 8}, 17), formula_below(name + ".y", {rows, 8}, 17)};
  return {formula_uniform(name + ".x", {rows, 3, 32, 32}), formula_below(name + ".y", {rows}, 10)};
}

void expect_digest(const json& wanted, const at::Tensor& found, const std::string& name) {
  const at::Tensor flat = found.to(at::kDouble).flatten();
  const auto rms = wanted["rms"].get<double>();
  EXPECT_NEAR(flat.square().mean().sqrt().item<double>(), rms, tolerance * rms) << name;
  for (std::int64_t at = 0; at < 8; ++at) {
    const auto value = wanted["values"][static_cast<std::size_t>(at)].get<double>();
    EXPECT_NEAR(flat[at * (flat.numel() - 1) / 7].item<double>(), value, tolerance * std::max(std::abs(value), rms))
        << name << " " << at;
  }
}

TEST(recorded_training, has_the_losses_and_weights_of_python) {
  const json all = read_recorded();
  ASSERT_EQ(all["cases"].size(), 8u);
  for (const json& one : all["cases"]) {
    const auto model = one["model"].get<std::string>();
    const bool is_sgd = one["optimizer"] == "sgd";
    SCOPED_TRACE(model + (is_sgd ? " sgd" : " adamw"));
    const optimizer_options optimizer = is_sgd ? optimizer_options{.weight_decay = 1e-4, .momentum = 0.9}
                                               : optimizer_options{.kind = optimizer_kind::adamw, .weight_decay = 0.01};
    plain_pipeline trained = pipeline_of(layers_of(model), {2}, {.optimizer = optimizer});
    std::size_t step = 0;
    for (const json& loss : one["losses"]) {
      std::vector<plain_batch> batches;
      for (const std::int64_t rows : {4, 4, 3})
        batches.push_back(
            batch_of(model, model + "." + std::to_string(step) + "." + std::to_string(batches.size()), rows));
      const double found = get(trained.step(batches, is_sgd ? 0.05 : 1e-3));
      EXPECT_NEAR(found, loss.get<double>(), tolerance * loss.get<double>()) << "step " << step;
      ++step;
    }
    const state_dict weights = trained.weights();
    ASSERT_EQ(weights.size(), one["weights"].size());
    for (const named_tensor& each : weights) expect_digest(one["weights"].at(each.name), each.tensor, each.name);
  }
}

}  // namespace
}  // namespace troupe::testing
