// Goal: a training that ended anywhere goes on from its journal with the losses and weights of one that did not end,
// with or without a checkpoint, and says what differs where it cannot. Method: trainings of a small model end after
// some steps; others resume their journals, also cut, damaged ones, and those of other trainings.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t micro_batches = 3;
constexpr std::uint64_t steps = 8;

pipeline_module network(std::uint32_t stages) {
  return {.layers = {layer_spec("Linear", [] { return torch::nn::Linear(8, 16); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("Dropout", [] { return torch::nn::Dropout(0.2); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(16, 4); })},
          .num_stages = stages};
}

training_engine_options options_of(const fs::path& journal, bool resume) {
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adam};
  options.training.learning_rate = [](std::uint64_t step) { return 0.01 / (1 + static_cast<double>(step)); };
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.pipeline.run.threads = 1;
  options.journal = {.file = journal.string(), .resume = resume, .pins = {{"data", "numbers"}}};
  return options;
}

/// The third step has no label that counts: its decision is not carried out.
data_iterator batches(std::uint64_t first = 0, std::uint64_t seed = 1000) {
  return [next = first, seed]() mutable -> std::optional<batch> {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed + next);
    const std::int64_t rows = 4 + static_cast<std::int64_t>(next % 3);
    at::Tensor labels = at::randint(4, {rows}, generator, at::kLong);
    if (next++ / micro_batches == 2) labels.fill_(-100);
    return batch{at::randn({rows, 8}, generator), labels};
  };
}

struct outcome {
  std::vector<double> sums = {};
  state_dict weights = {};
};

void train(training_engine& engine, std::uint64_t count, outcome& into) {
  for (std::uint64_t step = 0; step < count; ++step) {
    const auto done = engine.train_batch();
    ASSERT_TRUE(done) << to_string(done.error());
    into.sums.push_back(done->loss_sum);
  }
  into.weights = get(engine.module_state_dict());
}

const outcome& undisturbed() {
  static const outcome made = [] {
    outcome all;
    const auto engine = get(training_engine::create(network(1), options_of({}, false)));
    engine->set_dataiterator(batches());
    train(*engine, steps, all);
    return all;
  }();
  return made;
}

void expect_undisturbed(const outcome& made, std::uint64_t from = 0) {
  const outcome& wanted = undisturbed();
  const auto begin = wanted.sums.begin() + static_cast<std::ptrdiff_t>(from);
  EXPECT_EQ(made.sums, std::vector<double>(begin, wanted.sums.end()));
  ASSERT_EQ(made.weights.size(), wanted.weights.size());
  for (std::size_t i = 0; i < wanted.weights.size(); ++i) {
    EXPECT_TRUE(at::equal(made.weights[i].tensor, wanted.weights[i].tensor)) << wanted.weights[i].name;
  }
}

class journaled_training : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }

  [[nodiscard]] fs::path journal() const { return dir_ / "journal"; }
  [[nodiscard]] auto make(bool resume, std::uint32_t stages = 2) const {
    return training_engine::create(network(stages), options_of(journal(), resume));
  }
  /// A training that ends after so many steps.
  void leave(std::uint64_t count, std::uint64_t saved_at = 0) const {
    const auto engine = make(false);
    ASSERT_TRUE(engine) << to_string(engine.error());
    (*engine)->set_dataiterator(batches());
    outcome ignored;
    if (saved_at > 0) {
      train(**engine, saved_at, ignored);
      ASSERT_TRUE((*engine)->save_checkpoint(dir_, "saved"));
    }
    train(**engine, count - saved_at, ignored);
  }
  void expect_refusal(const training_engine_options& options, error_code code, const std::string& words) const {
    const auto engine = training_engine::create(network(2), options);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code, code) << to_string(engine.error());
    EXPECT_THAT(to_string(engine.error()), HasSubstr(words));
    EXPECT_FALSE(engine.error().fix.empty());
  }

  const fs::path dir_ = fs::temp_directory_path() / ("test-journaled-training-" + std::to_string(::getpid()));
};

TEST_F(journaled_training, goes_on_without_a_checkpoint_from_the_first_step) {
  leave(5);
  const auto engine = make(true, 3);
  ASSERT_TRUE(engine) << to_string(engine.error());
  EXPECT_TRUE((*engine)->journaled_steps().empty());
  (*engine)->set_dataiterator(batches());
  outcome made;
  train(**engine, steps, made);
  expect_undisturbed(made);
  EXPECT_EQ((*engine)->journaled_steps().size(), steps);
}

TEST_F(journaled_training, goes_on_from_a_checkpoint_with_the_losses_before_it) {
  constexpr std::uint64_t saved_at = 4;
  leave(6, saved_at);
  const auto engine = make(true, 1);
  ASSERT_TRUE(engine) << to_string(engine.error());
  ASSERT_TRUE((*engine)->load_checkpoint(dir_));
  EXPECT_EQ((*engine)->global_steps(), saved_at - 1) << "one decision was not carried out";
  outcome made;
  for (const train_output& each : (*engine)->journaled_steps()) {
    made.sums.push_back(each.loss_sum);
    EXPECT_EQ(each.micro_batches, micro_batches);
    EXPECT_EQ(each.samples, 15U);
  }
  EXPECT_EQ(made.sums.size(), saved_at);
  (*engine)->set_dataiterator(batches(saved_at * micro_batches));
  train(**engine, steps - saved_at, made);
  expect_undisturbed(made);
  ASSERT_TRUE((*engine)->finish());
  const auto again = make(true);  // a journal that is complete
  ASSERT_TRUE(again) << to_string(again.error());
}

TEST_F(journaled_training, goes_on_where_the_file_was_cut) {
  leave(5);
  const auto size = fs::file_size(journal());
  fs::copy_file(journal(), dir_ / "whole");
  for (const std::uint64_t lost : {1U, 50U, 98U, 99U, 250U}) {
    fs::copy_file(dir_ / "whole", journal(), fs::copy_options::overwrite_existing);
    fs::resize_file(journal(), size - lost);
    const auto engine = make(true);
    ASSERT_TRUE(engine) << to_string(engine.error());
    (*engine)->set_dataiterator(batches());
    outcome made;
    train(**engine, steps, made);
    expect_undisturbed(made);
  }
}

TEST_F(journaled_training, refuses_a_damaged_file) {
  leave(5);
  std::fstream file(journal(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(fs::file_size(journal()) - 200));
  file.put('\x7f');
  file.close();
  expect_refusal(options_of(journal(), true), error_code::journal_damaged, "checksum");
}

TEST_F(journaled_training, is_refused_where_the_file_is_there_or_is_not) {
  expect_refusal(options_of(journal(), true), error_code::journal_missing, "there is no such journal");
  leave(1);
  expect_refusal(options_of(journal(), false), error_code::journal_unwritable, "exists already");
  const auto first = make(true);
  ASSERT_TRUE(first) << to_string(first.error());
  expect_refusal(options_of(journal(), true), error_code::journal_unwritable, "another process");
}

TEST_F(journaled_training, names_options_that_differ) {
  leave(1);
  training_engine_options options = options_of(journal(), true);
  options.training.seed = 7;
  expect_refusal(options, error_code::journal_mismatch, "seed was 0 and is 7");
  options = options_of(journal(), true);
  options.training.optimizer.beta_1 = 0.5;
  expect_refusal(options, error_code::journal_mismatch, "betas 0.9 0.999");
  options = options_of(journal(), true);
  options.journal.pins["data"] = "other numbers";
  expect_refusal(options, error_code::journal_mismatch, "data was numbers and is other numbers");
}

TEST_F(journaled_training, names_the_step_that_differs) {
  leave(5);
  {
    training_engine_options options = options_of(journal(), true);
    options.training.learning_rate = [](std::uint64_t step) {
      return 0.01 / (1 + (step < 2 ? static_cast<double>(step) : 7));
    };
    const auto engine = get(training_engine::create(network(2), options));
    engine->set_dataiterator(batches());
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(engine->train_batch());
    const auto differs = engine->train_batch();
    ASSERT_FALSE(differs);
    EXPECT_EQ(differs.error().code, error_code::journal_mismatch);
    EXPECT_THAT(to_string(differs.error()), HasSubstr("step 2: learning_rate was"));
    EXPECT_EQ(engine->global_steps(), 2U);
  }
  const auto engine = get(make(true));
  engine->set_dataiterator(batches(0, 5000));
  const auto differs = engine->train_batch();
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code, error_code::journal_mismatch);
  EXPECT_THAT(to_string(differs.error()), HasSubstr("step 0: norm was"));
}

TEST_F(journaled_training, refuses_a_checkpoint_of_another_training) {
  leave(5, 4);
  fs::remove(journal());
  leave(2);
  const auto engine = get(make(true));
  const auto loaded = engine->load_checkpoint(dir_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::journal_mismatch) << to_string(loaded.error());
  engine->set_dataiterator(batches());
  outcome made;
  train(*engine, steps, made);  // with the weights that it had
  expect_undisturbed(made);
}

TEST_F(journaled_training, goes_on_after_the_disk_was_full) {
  training_engine_options options = options_of(journal(), false);
  options.pipeline.run.faults.add("disk_full:journal,at=mb2,bytes=150");
  {
    const auto engine = get(training_engine::create(network(2), options));
    engine->set_dataiterator(batches());
    ASSERT_TRUE(engine->train_batch());
    const auto full = engine->train_batch();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, error_code::journal_unwritable) << to_string(full.error());
    EXPECT_EQ(engine->global_steps(), 1U);
  }
  const auto engine = get(make(true));
  engine->set_dataiterator(batches());
  outcome made;
  train(*engine, steps, made);
  expect_undisturbed(made);
}

}  // namespace
}  // namespace troupe::testing
