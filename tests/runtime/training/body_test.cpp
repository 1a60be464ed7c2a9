// Goal: a step of training has the bits of a plain loop over LibTorch, wherever the layers are cut. Method: the loop is
// written out here, with the modules of LibTorch and torch::autograd alone.
#include <gmock/gmock.h>

#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

std::vector<plain_batch> picture_batches(std::int64_t channels, std::int64_t size, const std::string& name,
                                         const std::vector<std::int64_t>& rows) {
  std::vector<plain_batch> made;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::string own = name + std::to_string(at);
    made.push_back(
        {formula_uniform(own + ".x", {rows[at], channels, size, size}), formula_below(own + ".y", {rows[at]}, 10)});
  }
  return made;
}

TEST(autograd_body, gives_equal_bits_for_every_cut) {
  const std::vector<layer_spec> layers = lenet_layers();
  const training_body_options options{.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01}};
  plain_pipeline whole = pipeline_of(layers, {}, options);
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step)
    losses.push_back(get(whole.step(picture_batches(1, 28, "s" + std::to_string(step), {4, 4, 3}), 1e-3)));
  for (const std::vector<std::size_t>& cuts :
       std::vector<std::vector<std::size_t>>{{1}, {5}, {6}, {3, 7}, {1, 4, 8}, {2, 3, 9, 11}}) {
    plain_pipeline cut = pipeline_of(layers, cuts, options);
    for (std::size_t step = 0; step < losses.size(); ++step)
      EXPECT_EQ(get(cut.step(picture_batches(1, 28, "s" + std::to_string(step), {4, 4, 3}), 1e-3)), losses[step]);
    expect_equal(cut.weights(), whole.weights());
    expect_equal(cut.moments(), whole.moments());
  }
  EXPECT_LT(losses.back(), 1e9);
}

}  // namespace
}  // namespace troupe::testing
