// Goal: the state of a stage can be saved and loaded by name, and outlives a body in memory that is given. Method: runs
// that go on where another one stopped, against one that never stopped.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

std::vector<plain_batch> batches_of(int step) {
  return picture_batches(3, 32, "state" + std::to_string(step), {3, 2});
}

TEST(training_state, names_are_those_of_the_state_dict) {
  const auto body = std::move(get(stages_of(resnet20_layers(), {}, {.optimizer = adamw})).front());
  std::vector<std::string> names;
  for (const named_tensor& each : body->weights()) names.push_back(each.name);
  EXPECT_EQ(names.size(), 116u);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"0.weight", "1.bias", "3.conv1.weight", "13.bias", "1.running_mean",
                                              "1.num_batches_tracked"}));
  EXPECT_EQ(body->moments().front().name, "0.weight.exp_avg");
  EXPECT_EQ(body->moments()[1].name, "0.weight.exp_avg_sq");
}

TEST(training_state, is_loaded_at_another_cut) {
  plain_pipeline whole = pipeline_of(resnet20_layers(), {4}, {.optimizer = adamw});
  for (int step = 0; step < 2; ++step) must(whole.step(batches_of(step), 1e-3));
  const state_dict weights = whole.weights();
  const state_dict moments = whole.moments();
  for (const named_tensor& each : weights) {
    if (each.name == "1.num_batches_tracked") {
      EXPECT_EQ(each.tensor.item<std::int64_t>(), 4);
    }
  }
  plain_pipeline cut = pipeline_of(resnet20_layers(), {2, 9}, {.optimizer = adamw});
  for (const auto& stage : cut.stages()) {
    const auto done = stage->load(weights, moments, 2);
    ASSERT_TRUE(done) << to_string(done.error());
  }
  EXPECT_EQ(get(cut.step(batches_of(2), 1e-3)), get(whole.step(batches_of(2), 1e-3)));
  state_dict after = whole.weights();
  for (const named_tensor& each : cut.weights()) {
    const auto same = std::ranges::find(after, each.name, &named_tensor::name);
    ASSERT_NE(same, after.end());
    EXPECT_TRUE(at::equal(each.tensor, same->tensor)) << each.name;
  }
}

TEST(training_state, refuses_weights_that_do_not_fit) {
  const auto body = std::move(get(stages_of(mlp_layers(), {}, {.optimizer = adamw})).front());
  state_dict weights;
  for (const named_tensor& each : body->weights()) weights.push_back({each.name, each.tensor.clone()});
  weights[0].tensor = at::zeros({3});
  auto done = body->load(weights, {}, 0);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::weights_do_not_fit);
  EXPECT_THAT(to_string(done.error()), HasSubstr("1.weight: expected the sizes [16, 12], found [3]"));
  weights.erase(weights.begin());
  EXPECT_THAT(to_string(body->load(weights, {}, 0).error()), HasSubstr("1.weight: it is missing"));
}

TEST(training_state, goes_on_in_given_memory_between_vote_and_decision) {
  plain_pipeline alone = pipeline_of(resnet20_layers(), {}, {.optimizer = adamw});
  for (int step = 0; step < 2; ++step) must(alone.step(batches_of(step), 1e-3));

  const auto part = get(make_layer_part(resnet20_layers(), 0, 14, 0));
  const auto bytes = get(layout_of(*part, adamw)).bytes();
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  training_body_options options{.optimizer = adamw, .memory = {static_cast<std::byte*>(mapped), bytes}};
  step_vote vote;
  {
    plain_pipeline first = pipeline_of(resnet20_layers(), {}, options);
    must(first.step(batches_of(0), 1e-3));
    must(first.passes(batches_of(1)));
    must(first.stages().front()->finish(1, {}, {}, vote));
  }
  options.is_adopted = true;
  plain_pipeline second = pipeline_of(resnet20_layers(), {}, options);
  EXPECT_EQ(second.stages().front()->state().step(), 1u);
  must(
      second.stages().front()->apply({.call = 1, .step = 1, .gradient_scale = 1 / vote.weight, .learning_rate = 1e-3}));
  expect_equal(second.weights(), alone.weights());
  munmap(mapped, bytes);
}

TEST(training_state, a_skipped_step_changes_nothing) {
  plain_pipeline trained = pipeline_of(resnet20_layers(), {}, {.optimizer = adamw});
  const state_dict before = trained.weights();
  must(trained.passes(batches_of(0)));
  step_vote vote;
  must(trained.stages().front()->finish(0, {}, {}, vote));
  must(trained.stages().front()->apply({.call = 0, .is_applied = false}));
  expect_equal(trained.weights(), before);
}

}  // namespace
}  // namespace troupe::testing
