// Goal: models from files are trained by the engine, with equal bits for every cut and number of replicas, and their
// checkpoints can be evaluated and gone on with. Method: models of the repository and small recorded ones are trained
// on samples by formula.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
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

constexpr std::uint64_t micro_batches = 4;

training_engine_options options(std::uint32_t stages, std::uint32_t replicas = 1,
                                const std::string& partition = "parameters") {
  training_engine_options made;
  made.training.num_micro_batches = micro_batches;
  made.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  made.training.learning_rate = [](std::uint64_t step) { return step < 2 ? 1e-3 : 5e-4; };
  made.training.loss = training_loss_options{.kind = loss_kind::nll};
  made.pipeline.stages = stages;
  made.pipeline.replicas = replicas;
  made.pipeline.partition = partition;
  made.pipeline.run.threads = 1;
  made.pipeline.run.limit = 300;
  return made;
}

/// Of 28 x 28 digits; sizes differ.
data_iterator digits(std::uint64_t first = 0) {
  return [next = first]() mutable -> std::optional<batch> {
    const std::string name = "digits" + std::to_string(next);
    const std::int64_t rows = 3 + static_cast<std::int64_t>(next++ % 3);
    return batch{formula_uniform(name + ".x", {rows, 1, 28, 28}), formula_below(name + ".y", {rows}, 10)};
  };
}

std::string lenet() {
  return (data_dir() / "mnist/lenet.pt").string();
}

trained_outcome train_lenet(const training_engine_options& how) {
  auto engine = training_engine::create(lenet(), how);
  EXPECT_TRUE(engine) << to_string(engine.error());
  if (!engine) return {};
  (*engine)->set_dataiterator(digits());
  return train(**engine, 3);
}

TEST(trained_file, has_equal_bits_for_every_cut_and_number_of_replicas) {
  const trained_outcome one = train_lenet(options(1));
  ASSERT_EQ(one.losses.size(), 3u);
  EXPECT_NE(one.losses[0], one.losses[1]);
  expect_equal(train_lenet(options(3)), one);
  expect_equal(train_lenet(options(2, 2, "uniform")), one);
  expect_equal(train_lenet(options(2, 4, "0,5,15")), one);
  training_engine_options timed = options(2, 1, "profile");
  timed.pipeline.sample.set("", formula_uniform("sample", {4, 1, 28, 28}));
  expect_equal(train_lenet(timed), one);
  training_engine_options again = options(3);
  again.training.recompute_interval = 2;
  expect_equal(train_lenet(again), one);
}

TEST(trained_file, has_the_names_of_its_state_dict) {
  const auto engine = get(training_engine::create(lenet(), options(2)));
  const state_dict before = get(get(pipeline_engine::create(lenet()))->module_state_dict());
  const state_dict at_first = get(engine->module_state_dict());
  ASSERT_EQ(at_first.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(at_first[i].name, before[i].name);
    EXPECT_TRUE(at::equal(at_first[i].tensor, before[i].tensor)) << before[i].name;
  }
}

class trained_file_checkpoints : public ::testing::Test {
 protected:
  trained_file_checkpoints() : dir_(fs::temp_directory_path() / ("test-trained-file-" + std::to_string(::getpid()))) {}
  ~trained_file_checkpoints() override { fs::remove_all(dir_); }

  /// LeNet after so many steps of options(stages, replicas), whose checkpoint is there.
  std::unique_ptr<training_engine> saved(std::uint64_t steps, std::uint32_t stages = 3, std::uint32_t replicas = 2) {
    auto engine = get(training_engine::create(lenet(), options(stages, replicas)));
    engine->set_dataiterator(digits());
    static_cast<void>(train(*engine, steps));
    const auto done = engine->save_checkpoint(dir_, "tag", {{"note", "mine"}});
    EXPECT_TRUE(done) << to_string(done.error());
    return engine;
  }

  fs::path dir_;
};

TEST_F(trained_file_checkpoints, go_on_with_the_same_bits_at_other_stages_and_replicas) {
  const auto first = saved(3);
  const trained_outcome wanted = train(*first, 2);
  const auto second = get(training_engine::create(lenet(), options(2)));
  second->set_dataiterator(digits(40));
  static_cast<void>(train(*second, 1));  // what it has learned is forgotten
  const auto loaded = second->load_checkpoint(dir_);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(loaded->micro_batches, 12u);
  EXPECT_EQ(loaded->samples, 3u * 16);
  EXPECT_EQ(std::get<std::string>(loaded->client_state.at("note").value), "mine");
  EXPECT_EQ(second->global_steps(), 3u);
  second->set_dataiterator(digits(loaded->micro_batches));
  expect_equal(train(*second, 2), wanted);
}

TEST_F(trained_file_checkpoints, are_those_of_a_pipeline_engine) {
  const auto trained = saved(2);
  const auto data = "mnist:" + (data_dir() / "mnist").string();
  const auto evaluated = get(trained->evaluate(data));
  const pipeline_engine_options plain{
      .stages = 2, .run = {.threads = 1, .limit = 300}, .optimize = optimize_mode::none};
  const auto engine = get(pipeline_engine::create(lenet(), plain));
  ASSERT_TRUE(engine->load_checkpoint(dir_));
  expect_equal(get(engine->module_state_dict()), get(trained->module_state_dict()));
  const auto again = get(engine->evaluate(data));
  EXPECT_EQ(again["accuracy"].count("correct"), evaluated["accuracy"].count("correct"));
  EXPECT_EQ(again["cross_entropy"].value(), evaluated["cross_entropy"].value());
  const auto from_files =
      get(pipeline_engine::create(model_with_weights{.model = lenet(), .weights = (dir_ / "tag").string()}, plain));
  EXPECT_EQ(get(from_files->evaluate(data))["cross_entropy"].value(), evaluated["cross_entropy"].value());
}

TEST_F(trained_file_checkpoints, give_what_the_options_ask_for) {
  const auto first = saved(3);
  const state_dict weights = get(first->module_state_dict());
  const auto load = [&](load_checkpoint_options how) {
    auto engine = get(training_engine::create(lenet(), options(2)));
    EXPECT_TRUE(engine->load_checkpoint(dir_, {}, how));
    expect_equal(get(engine->module_state_dict()), weights);
    engine->set_dataiterator(digits(12));
    return engine;
  };
  const auto whole = load({});
  EXPECT_EQ(whole->get_lr(), 5e-4);
  const auto without_schedule = load({.schedule_states = false});
  EXPECT_EQ(without_schedule->global_steps(), 3u);
  EXPECT_EQ(without_schedule->get_lr(), 1e-3);
  EXPECT_EQ(get(without_schedule->train_batch()).learning_rate, 1e-3);
  const auto without_moments = load({.optimizer_states = false});
  EXPECT_EQ(without_moments->global_steps(), 3u);
  EXPECT_EQ(get(without_moments->train_batch()).learning_rate, 5e-4);
  const auto module_only = load({.module_only = true});
  EXPECT_EQ(module_only->global_steps(), 0u);
  EXPECT_EQ(get(module_only->train_batch()).learning_rate, 1e-3);
  ASSERT_TRUE(whole->train_batch());
  EXPECT_FALSE(at::equal(get(whole->module_state_dict()).front().tensor,
                         get(without_moments->module_state_dict()).front().tensor));
}

TEST_F(trained_file_checkpoints, that_lack_a_layer_leave_it_as_it_is_where_that_is_asked_for) {
  const auto first = saved(2);
  const state_dict weights = get(first->module_state_dict());
  const auto file = dir_ / "tag/layer_13-model_states.pt";
  ASSERT_TRUE(fs::exists(file));
  const state_dict removed = get(load_weights(file));
  ASSERT_FALSE(removed.empty());
  fs::remove(file);
  const auto engine = get(training_engine::create(lenet(), options(2)));
  engine->set_dataiterator(digits(7));
  const trained_outcome own = train(*engine, 1);
  const auto refused = engine->load_checkpoint(dir_, {}, {.module_only = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::weights_do_not_fit) << to_string(refused.error());
  const auto loaded = engine->load_checkpoint(dir_, {}, {.strict = false, .module_only = true});
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  const state_dict now = get(engine->module_state_dict());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool is_kept = at::equal(now[i].tensor, own.weights[i].tensor);
    EXPECT_NE(is_kept, at::equal(now[i].tensor, weights[i].tensor)) << now[i].name;
    kept += is_kept ? 1 : 0;
  }
  EXPECT_EQ(kept, removed.size());
}

TEST_F(trained_file_checkpoints, are_safetensors_where_they_are_wanted) {
  const auto trained = saved(1);
  const state_dict weights = get(trained->module_state_dict());
  const auto file = dir_ / "weights.safetensors";
  ASSERT_TRUE(save_weights(file, weights));
  expect_equal(get(load_weights(file)), weights);
  const auto engine =
      get(training_engine::create(model_with_weights{.model = lenet(), .weights = file.string()}, options(2)));
  expect_equal(get(engine->module_state_dict()), weights);
}

TEST_F(trained_file_checkpoints, of_another_optimizer_are_refused) {
  training_engine_options sgd = options(1);
  sgd.training.optimizer = {.kind = optimizer_kind::sgd};
  const auto plain = get(training_engine::create(lenet(), sgd));
  plain->set_dataiterator(digits());
  const trained_outcome made = train(*plain, 1);
  ASSERT_TRUE(plain->save_checkpoint(dir_, "sgd"));
  const auto engine = get(training_engine::create(lenet(), options(1)));
  const auto refused = engine->load_checkpoint(dir_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::weights_do_not_fit);
  EXPECT_THAT(refused.error().cause, HasSubstr(".exp_avg\" is missing"));
  EXPECT_THAT(refused.error().fix, HasSubstr("or load it without optimizer_states"));
  EXPECT_EQ(engine->global_steps(), 0u);
  ASSERT_TRUE(engine->load_checkpoint(dir_, {}, {.optimizer_states = false}));
  expect_equal(get(engine->module_state_dict()), made.weights);
  EXPECT_EQ(engine->global_steps(), 1u);
  static_cast<void>(saved(1, 1, 1));
  EXPECT_THAT(plain->load_checkpoint(dir_).error().cause, HasSubstr("is unexpected"));
}

TEST_F(trained_file_checkpoints, with_numbers_that_are_none_are_refused) {
  const auto engine = saved(1, 1, 1);
  const auto file = dir_ / "tag/optimizer.safetensors";
  const state_dict good = get(load_weights(file));
  fs::remove(dir_ / "tag/SHA256SUMS");
  const std::vector<std::pair<std::string, at::Tensor>> bad = {{"step", at::full({}, -1, at::kLong)},
                                                               {"global_steps", at::full({}, 1.5, at::kFloat)},
                                                               {"samples", at::zeros({2}, at::kLong)},
                                                               {"step", at::zeros({0}, at::kLong)},
                                                               {"schedule_step", at::full({}, -5, at::kLong)}};
  for (const auto& [name, value] : bad) {
    state_dict damaged = good;
    for (named_tensor& each : damaged) {
      if (each.name == name) each.tensor = value;
    }
    fs::remove(file);
    ASSERT_TRUE(save_weights(file, damaged));
    const auto refused = engine->load_checkpoint(dir_);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, error_code::model_unreadable);
    EXPECT_THAT(refused.error().cause, HasSubstr("its \"" + name + "\" is no number of steps"));
  }
}

TEST_F(trained_file_checkpoints, of_another_seed_or_of_no_training_are_refused) {
  static_cast<void>(saved(1));
  training_engine_options other = options(1);
  other.training.seed = 5;
  const auto engine = get(training_engine::create(lenet(), other));
  const auto loaded = engine->load_checkpoint(dir_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::flags_contradict);
  EXPECT_THAT(loaded.error().fix,
              HasSubstr("give the training the seed 0, or load the weights alone, with module_only"));
  EXPECT_TRUE(engine->load_checkpoint(dir_, {}, {.module_only = true}));
  ASSERT_TRUE(get(pipeline_engine::create(lenet()))->save_checkpoint(dir_, "weights"));
  const auto without = engine->load_checkpoint(dir_, "weights");
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, error_code::model_missing);
  EXPECT_THAT(without.error().fix, HasSubstr("module_only"));
  EXPECT_TRUE(engine->load_checkpoint(dir_, "weights", {.module_only = true}));
}

TEST(trained_file, is_at_a_boundary_while_a_step_is_completed) {
  const training_engine* self = nullptr;
  std::vector<bool> in_loss;
  training_engine_options how = options(2);
  how.training.loss = training_loss_options{
      .kind = loss_kind::custom, .function = [&](const at::Tensor& outputs, const at::Tensor& labels) {
        in_loss.push_back(self->is_gradient_accumulation_boundary());
        return loss_terms{at::nll_loss(outputs, labels, {}, at::Reduction::Sum), static_cast<double>(labels.size(0))};
      }};
  const auto engine = get(training_engine::create(lenet(), how));
  self = engine.get();
  std::vector<bool> in_iterator;
  const data_iterator from = digits();
  engine->set_dataiterator([&]() -> std::optional<batch> {
    in_iterator.push_back(self->is_gradient_accumulation_boundary());
    return from();
  });
  for (int step = 0; step < 2; ++step) {
    EXPECT_FALSE(engine->is_gradient_accumulation_boundary());
    ASSERT_TRUE(engine->train_batch());
    EXPECT_TRUE(in_loss.back());  // of the last micro-batch
  }
  EXPECT_FALSE(engine->is_gradient_accumulation_boundary());
  EXPECT_EQ(in_iterator, std::vector<bool>(2 * micro_batches, false));
}

}  // namespace
}  // namespace troupe::testing
