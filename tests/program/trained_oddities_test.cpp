// Goal: what a model from a file has that training cannot do is a clear error, and the rest is right. Method: small
// models with one oddity each, scripted here or exported in training mode by recorded_training/record.py.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <unistd.h>

#include "tests/program/trained_runs.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

training_engine_options odd_options(std::uint32_t stages = 1) {
  training_engine_options made;
  made.training.num_micro_batches = 2;
  made.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  made.training.seed = 3;
  made.pipeline.stages = stages;
  made.pipeline.run.threads = 1;
  return made;
}

data_iterator rows() {
  return [next = 0]() mutable -> std::optional<batch> {
    const std::string name = "rows" + std::to_string(next++);
    return batch{formula_uniform(name + ".x", {3, 12}), formula_below(name + ".y", {3}, 5)};
  };
}

std::string recorded(const std::string& name) {
  return (source_dir() / "tests/program/recorded_training" / name).string();
}

/// The file of a scripted module, which goes with it.
class scripted_file {
 public:
  explicit scripted_file(const std::string& source, at::ScalarType dtype = at::kFloat, bool requires_grad = true)
      : path_((fs::temp_directory_path() / ("test-oddity-" + std::to_string(::getpid()) + ".pt")).string()) {
    torch::jit::Module module("__torch__.Net");
    for (const auto& [name, rows, columns] : {std::tuple{"first", 12, 8}, std::tuple{"second", 8, 5}}) {
      module.register_parameter(name, formula_uniform(name, {rows, columns}).to(dtype).requires_grad_(requires_grad),
                                false);
    }
    module.register_buffer("mean", at::zeros({8}));
    module.register_buffer("variance", at::ones({8}));
    module.define(source);
    module.save(path_);
  }
  scripted_file(const scripted_file&) = delete;
  scripted_file& operator=(const scripted_file&) = delete;
  ~scripted_file() { fs::remove(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string layers_with(const std::string& between) {
  return "def forward(self, x):\n  x = torch.matmul(x, self.first)\n  x = " + between +
         "\n  return torch.matmul(x, self.second)\n";
}

error refused(const std::string& file) {
  auto engine = training_engine::create(file, odd_options());
  EXPECT_FALSE(engine);
  return engine ? error{} : engine.error();
}

error refused_step(const std::string& file) {
  auto engine = training_engine::create(file, odd_options());
  EXPECT_TRUE(engine) << to_string(engine.error());
  if (!engine) return {};
  (*engine)->set_dataiterator(rows());
  const auto done = (*engine)->train_batch();
  EXPECT_FALSE(done);
  return done ? error{} : done.error();
}

TEST(trained_oddities, an_operator_without_gradient_is_named_with_layer_and_place) {
  const scripted_file file(layers_with("torch.nextafter(x, torch.ones_like(x))"));
  const error found = refused_step(file.path());
  EXPECT_EQ(found.code, error_code::forward_failed) << to_string(found);
  EXPECT_THAT(found.where, HasSubstr("stage 0, layer "));
  EXPECT_THAT(found.cause, HasSubstr("the operator aten::nextafter"));
  EXPECT_THAT(found.cause, HasSubstr("has no gradient"));
  const error exported = refused_step(recorded("stepped.pt2"));
  EXPECT_THAT(exported.cause, HasSubstr("the operator aten::nextafter (record.py:")) << to_string(exported);
}

TEST(trained_oddities, quantized_values_are_refused) {
  const scripted_file file(layers_with("torch.dequantize(torch.quantize_per_tensor(x, 0.1, 10, 13))"));
  const error found = refused_step(file.path());
  EXPECT_EQ(found.code, error_code::forward_failed) << to_string(found);
  EXPECT_THAT(found.cause, HasSubstr("the operator aten::quantize_per_tensor"));
}

/// PyTorch's backward() refuses it, too.
TEST(trained_oddities, a_loss_that_follows_from_no_weight_is_refused) {
  const scripted_file file(
      "def forward(self, x):\n  return torch.matmul(torch.matmul(x, self.first), self.second).detach()\n");
  const error found = refused_step(file.path());
  EXPECT_EQ(found.code, error_code::forward_failed) << to_string(found);
  EXPECT_THAT(found.cause, HasSubstr("the loss follows from no weight that is trained"));
  EXPECT_THAT(found.fix, HasSubstr("no detach()"));
}

TEST(trained_oddities, models_without_weights_in_float32_are_refused) {
  const scripted_file half(layers_with("torch.relu(x)"), at::kHalf);
  const error in_half = refused(half.path());
  EXPECT_EQ(in_half.code, error_code::model_unsupported) << to_string(in_half);
  EXPECT_THAT(in_half.cause + in_half.where, HasSubstr("first"));
  const scripted_file frozen(layers_with("torch.relu(x)"), at::kFloat, false);
  const error without = refused(frozen.path());
  EXPECT_EQ(without.code, error_code::topology_invalid) << to_string(without);
  EXPECT_THAT(without.cause, HasSubstr("no weights that can be trained"));
  const scripted_file integers(layers_with("torch.relu(x)"), at::kInt, false);
  EXPECT_EQ(refused(integers.path()).code, error_code::topology_invalid);
}

/// Its value would count how often a pass was computed.
TEST(trained_oddities, an_operator_that_writes_a_buffer_of_the_model_is_refused) {
  const scripted_file file(layers_with("x * self.mean.add_(1)"));
  const error found = refused_step(file.path());
  EXPECT_EQ(found.code, error_code::forward_failed) << to_string(found);
  EXPECT_THAT(found.where, HasSubstr("stage 0, layer "));
  EXPECT_THAT(found.cause, HasSubstr("writes the model's tensor \"mean\""));
}

TEST(trained_oddities, statistics_that_are_kept_in_training_mode_are_refused) {
  const scripted_file file(
      layers_with("torch.batch_norm(x, None, None, self.mean, self.variance, True, 0.1, 1e-5, False)"));
  const error found = refused(file.path());
  EXPECT_EQ(found.code, error_code::topology_invalid) << to_string(found);
  EXPECT_THAT(found.cause, HasSubstr("training mode"));
  const error exported = refused(recorded("mlp_training.pt2"));
  EXPECT_EQ(exported.code, error_code::model_unsupported);
  EXPECT_THAT(to_string(exported), HasSubstr("export it in evaluation mode"));
}

TEST(trained_oddities, dropout_in_training_mode_draws_by_key_and_rests_in_evaluations) {
  std::vector<trained_outcome> made;
  for (const auto& [stages, replicas, interval] :
       {std::tuple{1u, 1u, 0u}, std::tuple{2u, 1u, 1u}, std::tuple{2u, 2u, 0u}}) {
    training_engine_options how = odd_options(stages);
    how.pipeline.replicas = replicas;
    how.training.recompute_interval = interval;
    const auto engine = training_engine::create(recorded("noisy.pt2"), how);
    ASSERT_TRUE(engine) << to_string(engine.error());
    EXPECT_THAT((*engine)->warnings(), IsEmpty());
    (*engine)->set_dataiterator(rows());
    made.push_back(train(**engine, 3));
    expect_equal(made.back(), made.front());
    const auto evaluate = [&] {
      return get((*engine)->eval_batch(rows(), {.return_logits = true, .compute_loss = false})).logits.front();
    };
    const at::Tensor once = evaluate();
    EXPECT_TRUE(at::equal(evaluate(), once));
    const state_dict& weights = made.back().weights;
    const batch first = *rows()();
    const at::Tensor hidden = at::relu(at::linear(first.inputs.only(), weights[0].tensor, weights[1].tensor));
    EXPECT_TRUE(at::allclose(once, at::linear(hidden, weights[2].tensor, weights[3].tensor)));
  }
  training_engine_options other = odd_options();
  other.training.seed = 4;
  const auto engine = get(training_engine::create(recorded("noisy.pt2"), other));
  engine->set_dataiterator(rows());
  EXPECT_NE(train(*engine, 1).losses.front(), made.front().losses.front());
}

TEST(trained_oddities, attention_in_training_mode_has_equal_bits_for_every_cut) {
  const auto words = [] {
    return [next = 0]() mutable -> std::optional<batch> {
      const std::string name = "words" + std::to_string(next++);
      return batch{formula_below(name + ".x", {3, 8}, 17), formula_below(name + ".y", {3, 8}, 17)};
    };
  };
  std::vector<trained_outcome> made;
  for (const std::uint32_t stages : {1u, 3u}) {
    const auto engine = get(training_engine::create(recorded("gpt_training.pt2"), odd_options(stages)));
    engine->set_dataiterator(words());
    made.push_back(train(*engine, 3));
  }
  expect_equal(made[1], made[0]);
}

TEST(trained_oddities, an_operator_that_writes_what_its_stage_gets_has_equal_bits) {
  const scripted_file file(layers_with("torch.relu_(x)"));
  std::vector<trained_outcome> made;
  for (const std::uint32_t stages : {1u, 2u}) {
    training_engine_options how = odd_options(stages);
    how.pipeline.layers = layer_unit::operators;
    how.pipeline.partition = stages == 1 ? "auto" : "0,1,3";
    const auto engine = training_engine::create(file.path(), how);
    ASSERT_TRUE(engine) << to_string(engine.error());
    (*engine)->set_dataiterator(rows());
    made.push_back(train(**engine, 3));
  }
  expect_equal(made[1], made[0]);
}

TEST(trained_oddities, a_folder_with_a_config_is_trained_and_says_that_it_has_no_dropout) {
  training_engine_options how = odd_options();
  how.training.optimizer = {.kind = optimizer_kind::adamw};
  how.training.learning_rate = [](std::uint64_t) { return 1e-2; };
  const auto engine = training_engine::create((data_dir() / "text/language").string(), how);
  ASSERT_TRUE(engine) << to_string(engine.error());
  EXPECT_THAT((*engine)->warnings(), ElementsAre(HasSubstr("is trained without dropout")));
  (*engine)->set_dataiterator([]() -> std::optional<batch> {
    return batch{formula_below("ids", {2, 16}, 200), formula_below("next", {2, 16}, 200)};
  });
  const trained_outcome made = train(**engine, 5);
  ASSERT_EQ(made.losses.size(), 5u);
  EXPECT_LT(made.losses.back(), made.losses.front() / 2);
}

TEST(trained_oddities, an_optional_input_is_bound_by_the_sample) {
  const auto questions = [] {
    const at::Tensor mask = at::ones({2, 16}, at::kLong);
    mask[1].slice(0, 9).zero_();
    batch made;
    made.inputs.set("input_ids", formula_below("ids", {2, 16}, 200));
    made.inputs.set("attention_mask", mask);
    made.labels.set("", formula_below("classes", {2}, 2));
    return made;
  };
  const std::string model = (data_dir() / "text/classifier").string();
  const auto train_with = [&](bool has_sample) {
    training_engine_options how = odd_options(2);
    if (has_sample) how.pipeline.sample = questions().inputs;
    const auto engine = get(training_engine::create(model, how));
    return engine->train_batch([&]() -> std::optional<batch> { return questions(); });
  };
  const auto refused = train_with(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::model_rejects_sample) << to_string(refused.error());
  EXPECT_THAT(refused.error().fix, HasSubstr("the option `sample`"));
  const auto done = train_with(true);
  EXPECT_TRUE(done) << to_string(done.error());
}

TEST(trained_oddities, evaluation_mode_is_told) {
  const auto mlp = get(training_engine::create(recorded("mlp.pt2"), odd_options()));
  EXPECT_THAT(mlp->warnings(),
              ElementsAre(HasSubstr("1 batch normalisation keeps its statistics, and 1 dropout does nothing")));
}

}  // namespace
}  // namespace troupe::testing
