// Goal: a training engine gives the losses and weights of a plain loop over LibTorch, and the same bits for every
// number of stages and replicas. Method: a small network is trained on random samples.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include "tests/program/trained_runs.hpp"
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

pipeline_module network(std::uint32_t stages, const std::string& partition = "parameters") {
  pipeline_module made{.num_stages = stages, .partition_method = partition};
  made.layers = {layer_spec("Linear", [] { return torch::nn::Linear(6, 12); }),
                 layer_spec("Tanh", [] { return torch::nn::Tanh(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(12, 12); }),
                 layer_spec("Tanh", [] { return torch::nn::Tanh(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(12, 4); })};
  return made;
}

training_engine_options options(std::uint64_t micro_batches, std::uint32_t replicas = 1) {
  training_engine_options made;
  made.training.num_micro_batches = micro_batches;
  made.training.optimizer = {.kind = optimizer_kind::sgd, .momentum = 0.9};
  made.training.learning_rate = [](std::uint64_t step) { return step < 2 ? 0.1 : 0.05; };
  made.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  made.training.seed = 7;
  made.pipeline.replicas = replicas;
  made.pipeline.run.threads = 1;
  return made;
}

/// The batches of all steps, the same for each engine. Sizes differ.
data_iterator batches(std::uint64_t count) {
  auto position = std::make_shared<std::uint64_t>(0);
  return [=]() -> std::optional<batch> {
    if (*position == count) return std::nullopt;
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + *position);
    const std::int64_t rows = 3 + static_cast<std::int64_t>(*position % 3);
    ++*position;
    return batch{at::randn({rows, 6}, generator), at::randint(4, {rows}, generator, at::kLong)};
  };
}

trained_outcome trained_in(std::uint32_t stages, std::uint64_t micro_batches, std::uint64_t steps,
                           std::uint32_t replicas = 1) {
  auto engine = training_engine::create(network(stages), options(micro_batches, replicas));
  EXPECT_TRUE(engine) << to_string(engine.error());
  if (!engine) return {};
  (*engine)->set_dataiterator(batches(steps * micro_batches));
  return train(**engine, steps);
}

/// The same layers, trained by LibTorch's own optimizer with the mean over the whole step.
trained_outcome plain(std::uint64_t micro_batches, std::uint64_t steps) {
  std::vector<torch::nn::Linear> linears;
  std::uint64_t seed = 7;
  for (const auto& [in, out] : {std::pair{6, 12}, std::pair{12, 12}, std::pair{12, 4}}) {
    torch::manual_seed(seed);
    linears.emplace_back(in, out);
    seed += 2;
  }
  std::vector<at::Tensor> parameters;
  for (auto& each : linears) {
    parameters.push_back(each->weight);
    parameters.push_back(each->bias);
  }
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.1).momentum(0.9));
  const data_iterator data = batches(steps * micro_batches);
  trained_outcome made;
  for (std::uint64_t step = 0; step < steps; ++step) {
    static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[0].options()).lr(step < 2 ? 0.1 : 0.05);
    optimizer.zero_grad();
    at::Tensor sum = torch::zeros({});
    std::int64_t rows = 0;
    for (std::uint64_t index = 0; index < micro_batches; ++index) {
      const batch one = *data();
      at::Tensor x = one.inputs.only();
      x = torch::tanh(linears[0]->forward(x));
      x = torch::tanh(linears[1]->forward(x));
      sum = sum + torch::nn::functional::cross_entropy(
                      linears[2]->forward(x), one.labels.only(),
                      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
      rows += x.size(0);
    }
    const at::Tensor loss = sum / rows;
    loss.backward();
    optimizer.step();
    made.losses.push_back(loss.item<double>());
  }
  const char* names[] = {"0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"};
  for (std::size_t i = 0; i < parameters.size(); ++i) made.weights.push_back({names[i], parameters[i].detach()});
  return made;
}

TEST(trained_pipeline, is_trained_as_by_a_plain_loop) {
  const trained_outcome expected = plain(4, 10);
  const trained_outcome trained = trained_in(2, 4, 10);
  ASSERT_EQ(trained.losses.size(), expected.losses.size());
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    EXPECT_NEAR(trained.losses[step], expected.losses[step], 1e-6 * expected.losses[step]) << "step " << step;
  }
  ASSERT_EQ(trained.weights.size(), expected.weights.size());
  for (std::size_t i = 0; i < expected.weights.size(); ++i) {
    EXPECT_EQ(trained.weights[i].name, expected.weights[i].name);
    EXPECT_TRUE(at::allclose(trained.weights[i].tensor, expected.weights[i].tensor, 1e-5, 1e-6))
        << expected.weights[i].name;
  }
}

TEST(trained_pipeline, has_the_same_bits_for_all_stages_and_replicas) {
  for (const std::uint64_t micro_batches : {1, 4, 6}) {
    const trained_outcome one = trained_in(1, micro_batches, 5);
    for (const std::uint32_t stages : {2, 3, 5}) expect_equal(trained_in(stages, micro_batches, 5), one);
    for (const std::uint32_t replicas : {2, 4}) expect_equal(trained_in(2, micro_batches, 5, replicas), one);
  }
}

/// The batches behind the first `done`.
data_iterator rest_of(std::uint64_t count, std::uint64_t done) {
  data_iterator all = batches(count);
  for (std::uint64_t index = 0; index < done; ++index) static_cast<void>(all());
  return all;
}

class trained_checkpoints : public ::testing::Test {
 protected:
  ~trained_checkpoints() override { std::filesystem::remove_all(dir_); }
  const std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() / ("test-trained-" + std::to_string(::getpid()));
};

TEST_F(trained_checkpoints, go_on_with_the_same_bits_at_other_stages_and_replicas) {
  const auto undisturbed = *training_engine::create(network(2), options(4));
  undisturbed->set_dataiterator(batches(40));
  static_cast<void>(train(*undisturbed, 5));
  const trained_outcome expected = train(*undisturbed, 5);

  const auto first = *training_engine::create(network(3), options(4, 2));
  first->set_dataiterator(batches(40));
  static_cast<void>(train(*first, 5));
  auto saving = first->save_checkpoint_async(dir_, "step5", {{"position", 20}});
  ASSERT_TRUE(saving) << to_string(saving.error());
  static_cast<void>(train(*first, 3));  // the checkpoint does not have them
  const auto saved = saving->get();
  ASSERT_TRUE(saved) << to_string(saved.error());

  const auto second = *training_engine::create(network(2), options(4));
  second->set_dataiterator(batches(8));
  static_cast<void>(train(*second, 2));  // what it has learned is forgotten
  const auto loaded = second->load_checkpoint(dir_);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(loaded->tag, "step5");
  EXPECT_EQ(second->global_steps(), 5u);
  second->set_dataiterator(rest_of(40, 20));
  expect_equal(train(*second, 5), expected);
  EXPECT_EQ(second->global_steps(), 10u);
}

TEST_F(trained_checkpoints, whose_moments_were_changed_are_refused) {
  const auto engine = *training_engine::create(network(2), options(4));
  engine->set_dataiterator(batches(40));
  static_cast<void>(train(*engine, 2));
  ASSERT_TRUE(engine->save_checkpoint(dir_, "step2"));
  std::fstream moments(dir_ / "step2/optimizer.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  moments.seekp(-1, std::ios::end);
  moments.put('x');
  moments.close();
  const auto loaded = engine->load_checkpoint(dir_);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(to_string(loaded.error()), HasSubstr("optimizer.safetensors: its bytes are not those that were saved"));
  EXPECT_EQ(engine->global_steps(), 2u);
}

TEST_F(trained_checkpoints, of_another_model_leave_the_engine_as_it_was) {
  const auto wide = *training_engine::create({.layers = {layer_spec("Linear", [] { return torch::nn::Linear(6, 9); }),
                                                         layer_spec("Linear", [] { return torch::nn::Linear(9, 4); })}},
                                             options(1));
  ASSERT_TRUE(wide->save_checkpoint(dir_, "wide"));
  const auto engine = *training_engine::create(network(2), options(4));
  engine->set_dataiterator(batches(8));
  const trained_outcome before = train(*engine, 1);
  const auto loaded = engine->load_checkpoint(dir_, "wide");
  ASSERT_FALSE(loaded);
  EXPECT_THAT(to_string(loaded.error()),
              HasSubstr("of other sizes: layer 0 (Linear): 0.weight has [9, 6] and not [12, 6]"));
  EXPECT_THAT(to_string(engine->load_checkpoint(dir_, "none").error()), HasSubstr("E0201"));
  const trained_outcome after = train(*engine, 1);
  EXPECT_EQ(engine->global_steps(), 2u);
  const auto undisturbed = *training_engine::create(network(2), options(4));
  undisturbed->set_dataiterator(batches(8));
  EXPECT_EQ(train(*undisturbed, 1).losses, before.losses);
  expect_equal(after, train(*undisturbed, 1));
}

/// The factory of a layer fails as often as it is told.
TEST_F(trained_checkpoints, that_the_stages_cannot_start_with_leave_the_engine_as_it_was) {
  const auto failures = std::make_shared<std::atomic<int>>(0);
  for (const std::uint32_t replicas : {1u, 2u}) {
    pipeline_module module = network(2);
    module.layers.front() = layer_spec("Linear", [failures] {
      if (failures->fetch_sub(1) > 0) throw std::runtime_error("there is no memory");
      return torch::nn::Linear(6, 12);
    });
    *failures = 0;
    const auto engine = *training_engine::create(module, options(4, replicas));
    engine->set_dataiterator(batches(12));
    ASSERT_TRUE(engine->save_checkpoint(dir_, "step0"));
    const trained_outcome first = train(*engine, 1);
    *failures = 1'000'000;  // also the start that would undo the first one
    EXPECT_THAT(to_string(engine->load_checkpoint(dir_).error()), HasSubstr("there is no memory"));
    EXPECT_THAT(to_string(engine->module_state_dict().error()), HasSubstr("there is no memory"));
    EXPECT_THAT(to_string(engine->train_batch().error()), HasSubstr("there is no memory"));
    *failures = 0;
    const trained_outcome second = train(*engine, 1);
    EXPECT_EQ(engine->global_steps(), 2u);
    *failures = 1;
    EXPECT_THAT(to_string(engine->load_checkpoint(dir_).error()), HasSubstr("there is no memory"));
    const trained_outcome third = train(*engine, 1);
    const trained_outcome undisturbed = trained_in(2, 4, 3);
    EXPECT_EQ((std::vector<double>{first.losses[0], second.losses[0], third.losses[0]}), undisturbed.losses);
    expect_equal(third.weights, undisturbed.weights);
  }
}

/// The copy of the states behind the step may still be under way.
TEST(trained_pipeline, finishes_directly_behind_a_step_that_is_protected) {
  training_engine_options asked = options(2);
  asked.training.protect = {.kind = protection_kind::shadow};
  for (int time = 0; time < 5; ++time) {
    const auto engine = *training_engine::create(network(2), asked);
    ASSERT_TRUE(engine->train_batch(batches(2)));
    EXPECT_TRUE(engine->finish());
  }
}

TEST(trained_pipeline, a_step_over_what_the_iterator_has_left) {
  const auto engine = *training_engine::create(network(2), options(4));
  engine->set_dataiterator(batches(6));
  EXPECT_EQ(troupe::get(engine->train_batch()).micro_batches, 4u);
  const train_output rest = troupe::get(engine->train_batch());
  EXPECT_EQ(rest.micro_batches, 2u);
  EXPECT_TRUE(rest.exhausted);
  const train_output none = troupe::get(engine->train_batch());
  EXPECT_EQ(none.micro_batches, 0u);
  EXPECT_TRUE(none.exhausted);
  EXPECT_EQ(engine->global_steps(), 2u);
}

TEST(trained_pipeline, a_step_that_fails_leaves_the_weights) {
  const auto engine = *training_engine::create(network(2), options(2));
  const state_dict before = troupe::get(engine->module_state_dict());
  const auto odd = engine->train_batch([]() -> std::optional<batch> {
    return batch{at::full({3, 6}, std::numeric_limits<float>::infinity()), at::zeros({3}, at::kLong)};
  });
  ASSERT_FALSE(odd);
  EXPECT_THAT(to_string(odd.error()), HasSubstr("E0619"));
  const auto wrong = engine->train_batch([]() -> std::optional<batch> {
    return batch{at::zeros({3, 7}), at::zeros({3}, at::kLong)};
  });
  ASSERT_FALSE(wrong);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("layer 0 (Linear)"));
  const auto thrown = engine->train_batch([]() -> std::optional<batch> { throw std::runtime_error("no more"); });
  EXPECT_THAT(to_string(thrown.error()), HasSubstr("no more"));
  const state_dict after = troupe::get(engine->module_state_dict());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(after[i].tensor, before[i].tensor));
  EXPECT_TRUE(engine->train_batch(batches(2)));
  EXPECT_EQ(engine->global_steps(), 1u);
}

/// A layer waits until the test lets it go on.
TEST(trained_pipeline, a_step_that_takes_too_long_is_given_up) {
  std::promise<void> gate;
  pipeline_module module = network(2);
  module.layers.insert(module.layers.begin() + 1,
                       layer_spec::function("Gate", [opened = gate.get_future().share()](const at::Tensor& x) {
                         opened.wait();
                         return x;
                       }));
  training_engine_options asked = options(2);
  asked.pipeline.call_timeout = std::chrono::milliseconds{100};
  const auto engine = troupe::get(training_engine::create(module, asked));
  const auto late = engine->train_batch(batches(2));
  gate.set_value();
  ASSERT_FALSE(late);
  EXPECT_THAT(to_string(late.error()), HasSubstr("E0605"));
  EXPECT_EQ(engine->global_steps(), 0u);
}

/// The steps behind it are those that they would be without it.
TEST(trained_pipeline, a_learning_rate_that_is_none_is_an_error_of_its_step) {
  for (const bool throws : {false, true}) {
    training_engine_options asked = options(2);
    const auto is_odd = std::make_shared<std::atomic<bool>>(false);
    asked.training.learning_rate = [=](std::uint64_t step) {
      if (*is_odd && throws) throw std::runtime_error("the table ends");
      return *is_odd ? std::numeric_limits<double>::quiet_NaN() : step < 2 ? 0.1 : 0.05;
    };
    const auto engine = *training_engine::create(network(2), asked);
    engine->set_dataiterator(batches(8));
    const trained_outcome first = train(*engine, 1);
    *is_odd = true;
    const auto refused = engine->train_batch(batches(2));
    ASSERT_FALSE(refused);
    EXPECT_THAT(to_string(refused.error()), HasSubstr("E0103: learning rate, step 1"));
    EXPECT_THAT(to_string(refused.error()), HasSubstr(throws ? "the table ends" : "nan"));
    *is_odd = false;
    const trained_outcome rest = train(*engine, 2);
    const trained_outcome undisturbed = trained_in(2, 2, 3);
    EXPECT_EQ((std::vector<double>{first.losses[0], rest.losses[0], rest.losses[1]}), undisturbed.losses);
    expect_equal(rest.weights, undisturbed.weights);
  }
}

TEST(trained_pipeline, what_cannot_be) {
  const auto refusal = [](training_engine_options asked, const pipeline_module& module) {
    const auto made = training_engine::create(module, std::move(asked));
    return made ? std::string() : to_string(made.error());
  };
  EXPECT_THAT(refusal(options(0), network(2)), HasSubstr("num_micro_batches is 0"));
  EXPECT_THAT(refusal(options(2, 3), network(2)), HasSubstr("3 is no power of two"));
  training_engine_options no_loss = options(1);
  no_loss.training.loss.reset();
  EXPECT_THAT(refusal(no_loss, network(2)), HasSubstr("there is no loss"));
  training_engine_options clipped = options(1);
  clipped.training.clip_norm = 0;
  EXPECT_THAT(refusal(clipped, network(2)), HasSubstr("clip_norm"));
  const auto engine = *training_engine::create(network(1), options(1));
  EXPECT_THAT(to_string(engine->train_batch().error()), HasSubstr("there is no iterator"));
}

}  // namespace
}  // namespace troupe::testing
