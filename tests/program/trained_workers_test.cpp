// Goal: a training whose stages live in worker processes has the bits of one in threads, whatever worker dies or
// freezes and when, and goes on after the driver died, from a checkpoint. Method: each fault is injected into the same
// training, whose losses and weights are compared. Workers are this program, started again.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include "tests/program/trained_file_workers.hpp"
#include "tests/program/trained_runs.hpp"
#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t micro_batches = 4;
constexpr std::uint64_t steps = 30;

pipeline_module network() {
  return {.layers = {layer_spec("Linear", [] { return torch::nn::Linear(16, 32); }),
                     layer_spec("BatchNorm1d", [] { return torch::nn::BatchNorm1d(32); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("Dropout", [] { return torch::nn::Dropout(0.2); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(32, 32); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(32, 5); })},
          .num_stages = 3};
}

expected<std::unique_ptr<training_engine>> make_engine(bool in_workers, std::uint32_t replicas, fault_plan faults = {},
                                                       const std::string& log = {}) {
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = [](std::uint64_t step) { return 0.01 / (1 + 0.1 * static_cast<double>(step)); };
  options.training.clip_norm = 0.5;
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.pipeline.replicas = replicas;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = in_workers;
  if (in_workers) options.pipeline.run.workers.timeout = std::chrono::seconds{1};
  options.pipeline.run.faults = std::move(faults);
  options.pipeline.run.log.file = log;
  return training_engine::create(network(), options);
}

data_iterator batches(std::uint64_t first = 0) {
  return [next = first]() mutable -> std::optional<batch> {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + next);
    const std::int64_t rows = 5 + static_cast<std::int64_t>(next++ % 4);
    return batch{at::randn({rows, 16}, generator), at::randint(5, {rows}, generator, at::kLong)};
  };
}

const trained_outcome& undisturbed() {
  static const trained_outcome made = [] {
    const auto engine = get(make_engine(false, 1));
    engine->set_dataiterator(batches());
    return train(*engine, steps);
  }();
  return made;
}

void expect_undisturbed(const trained_outcome& made, std::uint64_t from = 0) {
  const trained_outcome& wanted = undisturbed();
  EXPECT_EQ(made.losses,
            std::vector<double>(wanted.losses.begin() + static_cast<std::ptrdiff_t>(from), wanted.losses.end()));
  ASSERT_EQ(made.weights.size(), wanted.weights.size());
  for (std::size_t i = 0; i < wanted.weights.size(); ++i) {
    EXPECT_TRUE(at::equal(made.weights[i].tensor, wanted.weights[i].tensor)) << wanted.weights[i].name;
  }
}

class trained_workers : public ::testing::TestWithParam<case_of_faults> {};

TEST_P(trained_workers, have_the_bits_of_threads) {
  const case_of_faults& given = GetParam();
  ::setenv(replicas_variable, std::to_string(given.replicas).c_str(), 1);
  fault_plan plan;
  for (const std::string& each : given.faults) plan.add(each);
  const fs::path log = fs::temp_directory_path() / ("test-trained-workers-" + std::to_string(::getpid()) + ".log");
  auto engine = make_engine(true, given.replicas, plan, log.string());
  ASSERT_TRUE(engine) << to_string(engine.error());
  (*engine)->set_dataiterator(batches());
  expect_undisturbed(train(**engine, steps));
  engine->reset();
  EXPECT_EQ(lines_with("was injected", log), given.faults.size());
  fs::remove(log);
}

// Faults at micro-batches are injected once, in the first step that has them.
const case_of_faults cases[] = {
    {"undisturbed", 1, {}},
    {"first_stage_dies", 1, {"kill:stage=stage.0,at=mb2"}},
    {"stage_in_the_middle_dies", 1, {"kill:stage=stage.1,at=mb3"}},
    {"last_stage_dies", 1, {"kill:stage=stage.2,at=mb0"}},
    {"all_die", 1, {"kill:stage=stage.0,at=mb1", "kill:stage=stage.1,at=mb1", "kill:stage=stage.2,at=mb1"}},
    {"dies_again_while_it_is_replaced", 1, {"kill:stage=stage.1,at=mb0", "kill:stage=stage.1,at=mb2"}},
    {"freezes", 1, {"stop:stage=stage.1,at=mb1"}},
    {"throws_once", 1, {"throw:stage=stage.0,at=mb1"}},
    {"loader_dies", 1, {"kill:loader,at=mb2"}},
    {"two_replicas", 2, {}},
    {"a_replica_dies", 2, {"kill:stage=stage.1,at=mb2", "kill:stage=stage.0,at=mb3"}},
};
INSTANTIATE_TEST_SUITE_P(faults, trained_workers, ::testing::ValuesIn(cases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(trained_workers_that_are_gone, go_on_from_a_checkpoint) {
  ::setenv(replicas_variable, "1", 1);
  const auto dir = fs::temp_directory_path() / ("test-trained-workers-" + std::to_string(::getpid()));
  constexpr std::uint64_t saved_at = 12;
  {
    const auto first = make_engine(true, 1);
    ASSERT_TRUE(first) << to_string(first.error());
    (*first)->set_dataiterator(batches());
    static_cast<void>(train(**first, saved_at));
    ASSERT_TRUE((*first)->save_checkpoint(dir, "step12"));
    static_cast<void>(train(**first, 3));  // of these nothing is kept
  }
  const auto second = make_engine(true, 1, fault_plan{}.add("kill:stage=stage.1,at=mb2"));
  ASSERT_TRUE(second) << to_string(second.error());
  const auto loaded = (*second)->load_checkpoint(dir);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  (*second)->set_dataiterator(batches(saved_at * micro_batches));
  expect_undisturbed(train(**second, steps - saved_at), saved_at);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    const char* const replicas = std::getenv(replicas_variable);
    const auto count = replicas == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(replicas));
    const char* const model = std::getenv(model_variable);
    static_cast<void>(model == nullptr ? make_engine(true, count) : make_file_engine(model, true, count));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
