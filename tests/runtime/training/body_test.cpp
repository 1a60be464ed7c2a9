// Goal: a step of training has the bits of a plain loop over LibTorch, wherever the layers are cut and whatever is
// evaluated between the steps. Method: the loops are written out here, with modules of LibTorch and its autograd alone.
#include <thread>

#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

using cut_places = std::vector<std::vector<std::size_t>>;

/// Three steps of pictures or tokens.
template <class Make>
void expect_equal_bits(const std::vector<layer_spec>& layers, const cut_places& places, const Make& batches) {
  const training_body_options options{.optimizer = adamw, .seed = 7};
  plain_pipeline whole = pipeline_of(layers, {}, options);
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) losses.push_back(get(whole.step(batches(step), 1e-3)));
  EXPECT_NE(losses[0], losses[1]);
  for (const std::vector<std::size_t>& cuts : places) {
    for (const bool sends_bytes : {false, true}) {
      SCOPED_TRACE(::testing::PrintToString(cuts) + (sends_bytes ? " between processes" : ""));
      plain_pipeline cut = pipeline_of(layers, cuts, options);
      if (sends_bytes) cut.send_bytes();
      for (int step = 0; step < 3; ++step)
        EXPECT_EQ(get(cut.step(batches(step), 1e-3)), losses[static_cast<std::size_t>(step)]);
      expect_equal(cut.weights(), whole.weights());
      expect_equal(cut.moments(), whole.moments());
    }
  }
}

TEST(autograd_body, gives_equal_bits_for_every_cut_of_lenet) {
  expect_equal_bits(lenet_layers(), {{1}, {2}, {6}, {11}, {3, 7}, {1, 4, 8}, {2, 3, 9, 11}}, [](int step) {
    return picture_batches(1, 28, "lenet" + std::to_string(step), {4, 4, 3});
  });
}

TEST(autograd_body, gives_equal_bits_for_every_cut_of_resnet20) {
  expect_equal_bits(resnet20_layers(), {{1}, {2}, {7, 12}, {13}, {3, 4, 9, 13}}, [](int step) {
    return picture_batches(3, 32, "resnet" + std::to_string(step), {4, 4, 3});
  });
}

TEST(autograd_body, gives_equal_bits_for_every_cut_of_a_gpt_with_dropout) {
  expect_equal_bits(gpt_layers(0.2, 3), {{1}, {2}, {3, 4}, {1, 2, 3, 5}}, [](int step) {
    return token_batches("gpt" + std::to_string(step), {4, 4, 3});
  });
}

TEST(autograd_body, has_the_bits_of_a_plain_loop) {
  plain_loop loop(resnet20_layers(), at::kFloat);
  plain_pipeline trained = pipeline_of(resnet20_layers(), {4, 8}, {});
  for (int step = 0; step < 3; ++step) {
    const auto batches = picture_batches(3, 32, "plain" + std::to_string(step), {4, 2, 3, 4, 1});
    EXPECT_EQ(get(trained.step(batches, 0.01)), loop.step(batches, 0.01));
  }
  expect_equal(trained.weights(), loop.weights(trained.weights()));
}

TEST(autograd_body, gives_the_mean_over_all_samples_for_uneven_micro_batches) {
  const auto batches = row_batches("uneven", {7, 7, 2, 1});
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> labels;
  for (const plain_batch& each : batches) {
    inputs.push_back(each.inputs);
    labels.push_back(each.labels);
  }
  plain_loop loop(mlp_layers(), at::kDouble);
  const auto [loss, gradients] = loop.mean_gradients({at::cat(inputs), at::cat(labels)});
  plain_pipeline trained = pipeline_of(mlp_layers(), {3}, {});
  const state_dict before = trained.weights();
  EXPECT_NEAR(get(trained.step(batches, 1)), loss, 1e-6);
  const state_dict after = trained.weights();
  for (std::size_t at = 0; at < before.size(); ++at) {
    const at::Tensor moved = before[at].tensor.to(at::kDouble) - after[at].tensor;
    EXPECT_TRUE(at::allclose(moved, gradients[at].tensor, 0, 2e-7)) << before[at].name;
  }
}

TEST(autograd_body, leaves_inputs_alone_though_its_first_layer_writes) {
  for (const std::size_t begin : {std::size_t{0}, std::size_t{2}}) {
    const std::vector<layer_spec> all = mlp_layers();
    auto part = get(make_layer_part(all, begin, 4, 0));
    const auto body = get(make_training_body(std::move(part), {}));
    const at::Tensor input = formula_uniform("input", {3, begin == 0 ? 12 : 16});
    const at::Tensor before = input.clone();
    const activation given{.id = {0, 0}, .samples = {0, 3}, .tensors = make_tensors(input), .labels = nullptr};
    activation made = given;
    ASSERT_TRUE(body->evaluate(given, made));
    ASSERT_TRUE(body->forward(given, made));
    EXPECT_FALSE(as_tensors(made.tensors).single().requires_grad());
    const payload_ptr back = get(body->backward({0, 0}, make_tensors(at::ones({3, 16}))));
    EXPECT_EQ(back == nullptr, begin == 0);
    EXPECT_TRUE(at::equal(input, before));
  }
}

TEST(autograd_body, evaluates_between_steps_without_a_trace) {
  const training_body_options options{.optimizer = adamw};
  plain_pipeline alone = pipeline_of(resnet20_layers(), {}, options);
  plain_pipeline asked = pipeline_of(resnet20_layers(), {}, options);
  plain_loop loop(resnet20_layers(), at::kFloat);
  const at::Tensor input = formula_uniform("asked", {2, 3, 32, 32});
  for (int step = 0; step < 2; ++step) {
    const auto batches = picture_batches(3, 32, "asked" + std::to_string(step), {4, 4});
    const activation given{.id = {9, 0}, .samples = {0, 2}, .tensors = make_tensors(input), .labels = nullptr};
    activation made = given;
    ASSERT_TRUE(asked.stages().front()->evaluate(given, made));
    loop.take(asked.weights());
    EXPECT_TRUE(at::equal(as_tensors(made.tensors).single(), loop.evaluate(input)));
    EXPECT_EQ(get(asked.step(batches, 1e-3)), get(alone.step(batches, 1e-3)));
  }
  expect_equal(asked.weights(), alone.weights());
}

TEST(autograd_body, begins_a_step_anew_with_equal_bits) {
  plain_pipeline alone = pipeline_of(gpt_layers(0.2), {2}, {.optimizer = adamw});
  plain_pipeline again = pipeline_of(gpt_layers(0.2), {2}, {.optimizer = adamw});
  const auto batches = token_batches("again", {4, 4, 3});
  EXPECT_TRUE(again.passes(batches));
  for (const auto& stage : again.stages()) stage->drop();
  EXPECT_EQ(get(again.step(batches, 1e-3)), get(alone.step(batches, 1e-3)));
  expect_equal(again.weights(), alone.weights());
}

TEST(autograd_body, stages_in_several_threads_do_not_see_each_other) {
  const auto train = [](plain_pipeline& trained) {
    trained.stages().front()->on_start();
    for (int step = 0; step < 20; ++step) must(trained.step(token_batches("threads", {4, 3}), 0.1));
  };
  std::vector<plain_pipeline> pipelines;
  for (int each = 0; each < 4; ++each) pipelines.push_back(pipeline_of(gpt_layers(0.2), {}, {.seed = 3}));
  train(pipelines.front());
  {
    std::vector<std::jthread> threads;
    for (std::size_t each = 1; each < pipelines.size(); ++each)
      threads.emplace_back([&, each] { train(pipelines[each]); });
  }
  for (const plain_pipeline& each : pipelines) expect_equal(each.weights(), pipelines.front().weights());
}

TEST(autograd_body, lets_go_of_each_micro_batch_after_its_backward_pass) {
  const auto body = std::move(get(stages_of(mlp_layers(), {}, {})).front());
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> inputs;
  for (std::uint64_t at = 0; at < 2; ++at) {
    const at::Tensor input = formula_uniform("held", {3, 12});
    inputs.emplace_back(input.getIntrusivePtr());
    const activation given{.id = {0, at},
                           .samples = {0, 3},
                           .tensors = make_tensors(input),
                           .labels = make_tensors(at::zeros({3}, at::kLong))};
    activation made = given;
    ASSERT_TRUE(body->forward(given, made));
  }
  ASSERT_TRUE(body->backward({0, 0}, nullptr));
  EXPECT_TRUE(inputs[0].expired());
  EXPECT_FALSE(inputs[1].expired());
  body->drop();
  EXPECT_TRUE(inputs[1].expired());
}

}  // namespace
}  // namespace troupe::testing
