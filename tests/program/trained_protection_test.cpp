// Goal: a training whose states are lost with the memory that has them gets them again as training_options::protect
// says, and has the bits of an undisturbed one; without protection it says what to do, also where a trainer evaluates.
// Method: a layer in a worker destroys the memory of its stage, as a dying host does, and kills its process; losses,
// weights and moments are compared with those of threads. Workers are this program, started again.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <torch/torch.h>
#include <unistd.h>

#include "tests/program/trained_runs.hpp"
#include <troupe/program.hpp>
#include <troupe/trainer.hpp>
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t micro_batches = 4;
constexpr std::uint64_t steps = 20;
constexpr const char* replicas_variable = "TROUPE_TEST_REPLICAS";
/// A folder: each of the files "0", "1" ... in it stands for one memory to be destroyed.
constexpr const char* losses_variable = "TROUPE_TEST_LOSSES";
/// The workers are those of a trainer.
constexpr const char* trainer_variable = "TROUPE_TEST_TRAINER";

/// All mappings of the memory in this process become zero, and the process ends.
[[noreturn]] void lose_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("troupe-state") == std::string::npos) continue;
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    auto* const pages = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): an address of the kernel
    if (::mprotect(pages, end - begin, PROT_READ | PROT_WRITE) == 0) std::memset(pages, 0, end - begin);
  }
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

at::Tensor fragile(const at::Tensor& x) {
  const char* const folder = std::getenv(losses_variable);
  if (folder != nullptr && program::worker() != nullptr) {
    for (int number = 0; number < 4; ++number) {
      if (::unlink((fs::path(folder) / std::to_string(number)).c_str()) == 0) lose_memory();
    }
  }
  return x;
}

pipeline_module network() {
  return {.layers = {layer_spec("Linear", [] { return torch::nn::Linear(16, 32); }),
                     layer_spec("BatchNorm1d", [] { return torch::nn::BatchNorm1d(32); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(32, 32); }),
                     layer_spec::function("Fragile", [](const at::Tensor& x) { return fragile(x); }),
                     layer_spec("Dropout", [] { return torch::nn::Dropout(0.2); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(32, 5); })},
          .num_stages = 3};
}

expected<std::unique_ptr<training_engine>> make_engine(bool in_workers, std::uint32_t replicas,
                                                       const std::string& protect) {
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adam};
  options.training.learning_rate = [](std::uint64_t step) { return 0.01 / (1 + 0.1 * static_cast<double>(step)); };
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.training.protect = get(protection_of(protect));
  options.pipeline.replicas = replicas;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = in_workers;
  options.pipeline.run.log.file = in_workers ? "/dev/null" : "";
  return training_engine::create(network(), options);
}

class drawn_rows final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 24; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {16}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 5; }
  [[nodiscard]] std::string name() const override { return "drawn"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
    const auto rows = static_cast<std::int64_t>(size());
    const at::Tensor inputs = at::randn({rows, 16}, generator);
    const at::Tensor labels = at::randint(5, {rows}, generator, at::kLong);
    const auto begin = static_cast<std::int64_t>(range.begin);
    const auto end = static_cast<std::int64_t>(range.end);
    return sample_block{inputs.slice(0, begin, end).clone(), labels.slice(0, begin, end).clone()};
  }
};

/// Six steps with an evaluation behind the third and the last one.
expected<std::unique_ptr<trainer>> make_trainer(bool in_workers, const std::string& protect, train_hooks hooks = {}) {
  train_options options;
  options.epochs = 2;
  options.num_micro_batches = 2;
  options.metrics = {"accuracy"};
  options.protect = protect;
  options.run.micro_batch = 4;
  options.run.threads = 1;
  options.run.workers.enabled = in_workers;
  if (in_workers) options.run.faults.add("slow:stage=stage.0,ms=1,p=1");
  options.run.log.level = log_level::error;
  const auto rows = std::make_shared<drawn_rows>();
  return trainer::create(options, std::move(hooks), {.module = network(), .data = rows, .eval_data = rows});
}

class scratch {
 public:
  scratch() : path_(fs::temp_directory_path() / ("test-trained-protection-" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / "losses");
    ::setenv(losses_variable, (path_ / "losses").c_str(), 1);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { fs::remove_all(path_); }
  void lose(int memories) const {
    for (int number = 0; number < memories; ++number) std::ofstream(path_ / "losses" / std::to_string(number));
  }
  [[nodiscard]] bool all_lost() const { return fs::is_empty(path_ / "losses"); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The same batch under the same number. Before the batches of `at` are given, memories are lost.
data_iterator batches(const scratch* place = nullptr, std::map<std::uint64_t, int> at = {}, std::uint64_t first = 0) {
  return [place, at = std::move(at), next = first]() mutable -> std::optional<batch> {
    if (const auto found = at.find(next); found != at.end()) place->lose(found->second);
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + next);
    const std::int64_t rows = 5 + static_cast<std::int64_t>(next++ % 4);
    return batch{at::randn({rows, 16}, generator), at::randint(5, {rows}, generator, at::kLong)};
  };
}

using outcome = trained_outcome;

const outcome& undisturbed() {
  static const outcome made = [] {
    const auto engine = get(make_engine(false, 1, "memory"));
    engine->set_dataiterator(batches());
    return train(*engine, steps);
  }();
  return made;
}

/// Moments count in the steps behind them.
void expect_undisturbed(const outcome& made) {
  const outcome& wanted = undisturbed();
  EXPECT_EQ(made.losses, wanted.losses);
  ASSERT_EQ(made.weights.size(), wanted.weights.size());
  for (std::size_t i = 0; i < wanted.weights.size(); ++i) {
    EXPECT_TRUE(at::equal(made.weights[i].tensor, wanted.weights[i].tensor)) << wanted.weights[i].name;
  }
}

struct case_of_losses {
  const char* name;
  const char* protect;
  std::uint32_t replicas;
  /// By batch, how many memories are lost one after another.
  std::map<std::uint64_t, int> at;
};

class trained_protection : public ::testing::TestWithParam<case_of_losses> {};

TEST_P(trained_protection, has_the_bits_of_an_undisturbed_training) {
  const case_of_losses& given = GetParam();
  const scratch place;
  ::setenv(replicas_variable, std::to_string(given.replicas).c_str(), 1);
  const auto engine = make_engine(true, given.replicas, given.protect);
  ASSERT_TRUE(engine) << to_string(engine.error());
  (*engine)->set_dataiterator(batches(&place, given.at));
  expect_undisturbed(train(**engine, steps));
  EXPECT_TRUE(place.all_lost());
}

const case_of_losses cases[] = {
    {"shadow", "shadow", 1, {{30, 1}}},
    {"shadow_and_first_step", "shadow", 1, {{1, 1}, {6, 1}}},
    {"checkpoint_before_its_first_copy", "checkpoint:100", 1, {{26, 1}}},
    {"checkpoint_with_copies", "checkpoint:3", 1, {{30, 1}, {51, 1}}},
    {"checkpoint_while_steps_are_done_again", "checkpoint:5", 1, {{33, 3}}},
    {"a_replica", "memory", 2, {{30, 1}, {55, 1}}},
    {"no_replica_is_left", "checkpoint:4", 2, {{30, 2}}},
};
INSTANTIATE_TEST_SUITE_P(losses, trained_protection, ::testing::ValuesIn(cases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(trained_without_protection, says_what_to_do) {
  const scratch place;
  ::setenv(replicas_variable, "1", 1);
  const auto engine = get(make_engine(true, 1, "memory"));
  engine->set_dataiterator(batches(&place, {{10, 1}}));
  ASSERT_TRUE(engine->train_batch());
  ASSERT_TRUE(engine->save_checkpoint(place.path() / "saved", "one"));
  ASSERT_TRUE(engine->train_batch());
  for (int again = 0; again < 2; ++again) {
    const auto lost = engine->train_batch();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, error_code::training_state_lost);
    EXPECT_THAT(lost.error().fix, HasSubstr("protect"));
  }
  EXPECT_FALSE(engine->module_state_dict());
  // The fix of E0620: the last checkpoint in a new engine.
  const auto next = get(make_engine(true, 1, "memory"));
  ASSERT_TRUE(next->load_checkpoint(place.path() / "saved"));
  next->set_dataiterator(batches(nullptr, {}, micro_batches));
  outcome made = train(*next, steps - 1);
  made.losses.insert(made.losses.begin(), undisturbed().losses.front());
  expect_undisturbed(made);
}

TEST(trained_with_protection, evaluates_with_the_states_that_are_left) {
  const scratch place;
  ::setenv(replicas_variable, "1", 1);
  const auto engine = get(make_engine(true, 1, "checkpoint:4"));
  engine->set_dataiterator(batches());
  static_cast<void>(train(*engine, 6));
  place.lose(1);
  const eval_batch_options how{.compute_loss = false, .reduce_output = reduction::none, .num_micro_batches = 2};
  const auto lost = engine->eval_batch(batches(), how);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, error_code::training_state_lost);
  EXPECT_THAT(lost.error().fix, HasSubstr("same batches"));
  const auto again = engine->eval_batch(batches(), how);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(engine->global_steps(), 6U);
}

/// A memory is lost in each evaluation.
expected<train_result> train_with_a_loss(const std::string& protect) {
  const scratch place;
  const auto lose_one = [&](const train_progress& now) {
    if (now.steps_done % 3 == 0 && now.evaluation == nullptr) place.lose(1);
  };
  ::setenv(trainer_variable, "1", 1);
  const auto training = get(make_trainer(true, protect, {.on_progress = lose_one, .on_log = nullptr}));
  auto result = training->run();
  ::unsetenv(trainer_variable);
  EXPECT_TRUE(place.all_lost());
  return result;
}

TEST(trainer_without_protection, ends_where_an_evaluation_loses_a_state) {
  const train_result result = get(train_with_a_loss("memory"));
  EXPECT_TRUE(result.partial);
  EXPECT_EQ(result.steps, 3U);
  EXPECT_TRUE(result.evaluations.empty());
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].code, error_code::training_state_lost);
  EXPECT_THAT(result.errors[0].fix, HasSubstr("--protect"));
}

TEST(trainer_with_protection, evaluates_again_with_the_states_that_it_has_kept) {
  const train_result wanted = get(get(make_trainer(false, "memory"))->run());
  const train_result result = get(train_with_a_loss("shadow"));
  EXPECT_FALSE(result.partial);
  EXPECT_EQ(result.losses, wanted.losses);
  EXPECT_EQ(result.weights_sha256, wanted.weights_sha256);
  ASSERT_EQ(result.faults.size(), 1U) << "of all stages together";
  ASSERT_EQ(result.stages.size(), wanted.stages.size());
  for (std::size_t stage = 0; stage < wanted.stages.size(); ++stage) {
    EXPECT_GE(result.stages[stage].micro_batches, wanted.stages[stage].micro_batches) << "those before a loss count";
  }
  EXPECT_GE(result.faults[0].times, 3U) << "the stages have begun three times";
  ASSERT_EQ(result.evaluations.size(), 2U);
  EXPECT_EQ(result.evaluations[0].metrics[0].count("correct"), wanted.evaluations[0].metrics[0].count("correct"));
}

TEST(trained_with_protection, refuses_no_steps) {
  training_engine_options options;
  options.training.protect = {.kind = protection_kind::checkpoint, .every = 0};
  options.training.loss = training_loss_options{};
  const auto refused = training_engine::create(network(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::value_out_of_range);
  EXPECT_THAT(refused.error().fix, HasSubstr("checkpoint:100"));
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    if (std::getenv(trainer_variable) != nullptr) static_cast<void>(make_trainer(true, "memory"));
    const char* const replicas = std::getenv(replicas_variable);
    static_cast<void>(
        make_engine(true, replicas == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(replicas)), "memory"));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
