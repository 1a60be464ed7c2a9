// Goal: tied layers in different stages train with the bits of one stage, for every cut and number of replicas, in
// threads and in workers that die, and as the same model does in Python. Method: a GPT whose embeddings are its output
// projection, and an MLP that uses one layer three times; losses and norms of Python are those of
// tests/runtime/training/recorded/record.py. Workers are this program, started again.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <torch/script.h>
#include <unistd.h>

#include "tests/program/trained_runs.hpp"
#include "tests/runtime/training/trained_models.hpp"
#include "tests/support/paths.hpp"
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// The model of a test, and where it is cut.
struct setup {
  std::string model;
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  double dropout = 0;
  std::uint64_t micro_batches = 3;
};

// In the environment of the workers of a test.
constexpr const char* variable = "TROUPE_TEST_TIES";
constexpr const char* file_variable = "TROUPE_TEST_TIES_FILE";

std::string to_text(const setup& what) {
  return what.model + " " + std::to_string(what.stages) + " " + std::to_string(what.replicas) + " " +
         std::to_string(what.dropout) + " " + std::to_string(what.micro_batches);
}

setup from_text(const std::string& text) {
  std::istringstream in(text);
  setup made;
  in >> made.model >> made.stages >> made.replicas >> made.dropout >> made.micro_batches;
  return made;
}

/// The places of the MLP's layer lie in as many stages as there are.
pipeline_module network(const setup& what) {
  const bool is_gpt = what.model == "gpt";
  const std::map<std::uint32_t, std::string> cuts =
      is_gpt ? std::map<std::uint32_t, std::string>{{1, "0,5"}, {2, "0,2,5"}, {3, "0,1,4,5"}}
             : std::map<std::uint32_t, std::string>{{1, "0,9"}, {2, "0,5,9"}, {3, "0,3,5,9"}};
  return {.layers = is_gpt ? tied_gpt_layers(what.dropout) : tied_mlp_layers(),
          .num_stages = what.stages,
          .partition_method = cuts.at(what.stages)};
}

/// Scores of samples, or of tokens.
loss_terms cross_entropy(const at::Tensor& outputs, const at::Tensor& labels) {
  return {at::cross_entropy_loss(outputs.reshape({-1, outputs.size(-1)}), labels.reshape({-1}), {}, at::Reduction::Sum),
          static_cast<double>(labels.numel())};
}

/// TorchScript whose first and last operator use one weight.
void save_model(const fs::path& file) {
  torch::jit::Module module("__torch__.Net");
  module.register_parameter("tokens", formula_uniform("tokens", {17, 16}).requires_grad_(), false);
  module.register_parameter("inner", formula_uniform("inner", {16, 16}).requires_grad_(), false);
  module.define(
      "def forward(self, x):\n  y = torch.embedding(self.tokens, x)\n  y = torch.relu(torch.matmul(y, self.inner))\n"
      "  return torch.linear(y, self.tokens)\n");
  module.save(file.string());
}

expected<std::unique_ptr<training_engine>> make_engine(const setup& what, bool in_workers = false,
                                                       fault_plan faults = {}, const std::string& log = {}) {
  training_engine_options options;
  options.training.num_micro_batches = what.micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = [](std::uint64_t) { return 1e-3; };
  options.training.clip_norm = 0.25;
  options.training.loss = training_loss_options{.kind = loss_kind::custom, .function = cross_entropy};
  options.pipeline.replicas = what.replicas;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = in_workers;
  if (in_workers) options.pipeline.run.workers.timeout = std::chrono::seconds{1};
  options.pipeline.run.faults = std::move(faults);
  options.pipeline.run.log.file = log;
  if (what.model != "file") return training_engine::create(network(what), options);
  options.pipeline.layers = layer_unit::operators;
  options.pipeline.stages = what.stages;
  options.pipeline.partition = "uniform";
  return training_engine::create(std::string(std::getenv(file_variable)), options);
}

/// Those of record.py.
data_iterator batches(const setup& what, std::uint64_t first = 0) {
  return [what, next = first]() mutable -> std::optional<batch> {
    constexpr std::int64_t rows_of[] = {4, 4, 3};
    const std::int64_t rows = rows_of[next % 3];
    const std::string name = "tied." + what.model + "." + std::to_string(next / 3) + "." + std::to_string(next % 3);
    ++next;
    if (what.model != "mlp")
      return batch{formula_below(name + ".x", {rows, 8}, 17), formula_below(name + ".y", {rows, 8}, 17)};
    return batch{formula_uniform(name + ".x", {rows, 12}), formula_below(name + ".y", {rows}, 5)};
  };
}

using outcome = trained_outcome;

outcome train_in_threads(const setup& what, std::uint64_t steps) {
  const auto engine = get(make_engine(what));
  engine->set_dataiterator(batches(what));
  return train(*engine, steps);
}

void expect_same(const outcome& made, const outcome& wanted) {
  EXPECT_EQ(made.losses, wanted.losses);
  EXPECT_EQ(made.norms, wanted.norms);
  ASSERT_EQ(made.weights.size(), wanted.weights.size());
  for (std::size_t i = 0; i < wanted.weights.size(); ++i) {
    EXPECT_EQ(made.weights[i].name, wanted.weights[i].name);
    EXPECT_TRUE(at::equal(made.weights[i].tensor, wanted.weights[i].tensor)) << wanted.weights[i].name;
  }
}

void expect_near(const std::vector<double>& found, const nlohmann::json& wanted) {
  ASSERT_GE(found.size(), wanted.size());
  for (std::size_t step = 0; step < wanted.size(); ++step) {
    const auto value = wanted[step].get<double>();
    EXPECT_NEAR(found[step], value, 1e-6 * value) << "step " << step;
  }
}

TEST(trained_ties, have_the_numbers_of_python_and_equal_bits_for_every_cut) {
  std::ifstream file(source_dir() / "tests/runtime/training/recorded/training.json");
  const auto recorded = nlohmann::json::parse(file)["tied"];
  for (const char* model : {"gpt", "mlp"}) {
    SCOPED_TRACE(model);
    const outcome whole = train_in_threads({.model = model}, 5);
    expect_near(whole.losses, recorded[model]["losses"]);
    expect_near(whole.norms, recorded[model]["norms"]);
    for (const std::uint32_t stages : {1, 2, 3}) {
      for (const std::uint32_t replicas : {1, 2, 4}) {
        SCOPED_TRACE(std::to_string(stages) + " x " + std::to_string(replicas));
        expect_same(train_in_threads({.model = model, .stages = stages, .replicas = replicas}, 5), whole);
      }
    }
  }
}

TEST(trained_ties, of_operators_of_a_file_have_equal_bits_for_every_cut) {
  const outcome whole = train_in_threads({.model = "file"}, 5);
  ASSERT_EQ(whole.weights.size(), 2u);
  EXPECT_FALSE(at::equal(whole.weights[0].tensor, formula_uniform("tokens", {17, 16})));
  for (const std::uint32_t stages : {2, 3, 4}) {
    for (const std::uint32_t replicas : {1, 2})
      expect_same(train_in_threads({.model = "file", .stages = stages, .replicas = replicas}, 5), whole);
  }
}

TEST(trained_ties, stand_once_in_the_state_dict) {
  for (const std::uint32_t stages : {1, 3}) {
    const outcome gpt = train_in_threads({.model = "gpt", .stages = stages}, 1);
    EXPECT_EQ(std::ranges::count_if(gpt.weights, [](const auto& each) { return each.name == "0.tokens.weight"; }), 1);
    EXPECT_EQ(std::ranges::count_if(gpt.weights, [](const auto& each) { return each.name.starts_with("4."); }), 0);
  }
}

TEST(trained_ties, go_on_from_a_checkpoint_at_another_cut_and_are_evaluated_by_another_engine) {
  const fs::path dir = fs::temp_directory_path() / ("test-trained-ties-" + std::to_string(::getpid()));
  const setup from{.model = "gpt", .stages = 3, .replicas = 2, .dropout = 0.1};
  const outcome all = train_in_threads(from, 6);
  {
    const auto first = get(make_engine(from));
    first->set_dataiterator(batches(from));
    static_cast<void>(train(*first, 3));
    ASSERT_TRUE(first->save_checkpoint(dir, "three"));
  }
  for (const auto& [stages, replicas] : {std::pair(1u, 1u), std::pair(2u, 4u), std::pair(3u, 1u)}) {
    const setup to{.model = "gpt", .stages = stages, .replicas = replicas, .dropout = 0.1};
    const auto second = get(make_engine(to));
    const auto loaded = second->load_checkpoint(dir);
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    second->set_dataiterator(batches(to, 9));
    outcome rest = train(*second, 3);
    rest.losses.insert(rest.losses.begin(), all.losses.begin(), all.losses.begin() + 3);
    rest.norms.insert(rest.norms.begin(), all.norms.begin(), all.norms.begin() + 3);
    expect_same(rest, all);
  }
  const auto trained = get(make_engine(from));
  ASSERT_TRUE(trained->load_checkpoint(dir));
  pipeline_engine_options options;
  options.run.threads = 1;
  const auto evaluates = get(pipeline_engine::create(network(from), options));
  ASSERT_TRUE(evaluates->load_checkpoint(dir));
  const auto one = trained->eval_batch(
      batches(from), {.compute_loss = false, .reduce_output = reduction::none, .num_micro_batches = 2});
  const auto other = evaluates->eval_batch(
      batches(from), {.compute_loss = false, .reduce_output = reduction::none, .num_micro_batches = 2});
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(at::equal(one->outputs.at(1), other->outputs.at(1)));
  fs::remove_all(dir);
}

struct case_of_faults {
  const char* name;
  setup what;
  std::vector<std::string> faults;
};

std::size_t lines_with(const std::string& text, const fs::path& file) {
  std::ifstream in(file);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(text) == std::string::npos ? 0 : 1;
  return count;
}

class tied_workers : public ::testing::TestWithParam<case_of_faults> {};

TEST_P(tied_workers, have_the_bits_of_threads) {
  const case_of_faults& given = GetParam();
  constexpr std::uint64_t steps = 20;
  setup alone = given.what;
  alone.stages = alone.replicas = 1;
  const outcome wanted = train_in_threads(alone, steps);
  ::setenv(variable, to_text(given.what).c_str(), 1);
  fault_plan plan;
  for (const std::string& each : given.faults) plan.add(each);
  const fs::path log = fs::temp_directory_path() / ("test-tied-workers-" + std::to_string(::getpid()) + ".log");
  auto engine = make_engine(given.what, true, plan, log.string());
  ASSERT_TRUE(engine) << to_string(engine.error());
  (*engine)->set_dataiterator(batches(given.what));
  expect_same(train(**engine, steps), wanted);
  engine->reset();
  EXPECT_EQ(lines_with("was injected", log), given.faults.size());
  fs::remove(log);
}

const case_of_faults cases[] = {
    {"a_file", {.model = "file", .stages = 3}, {"kill:stage=stage.2,at=mb1"}},
    {"gpt", {.model = "gpt", .stages = 3}, {}},
    {"mlp_of_two_replicas", {.model = "mlp", .stages = 3, .replicas = 2}, {}},
    {"owner_dies", {.model = "gpt", .stages = 3, .dropout = 0.1}, {"kill:stage=stage.0,at=mb2"}},
    {"copy_dies", {.model = "gpt", .stages = 3, .dropout = 0.1}, {"kill:stage=stage.2,at=mb2"}},
    {"all_die",
     {.model = "mlp", .stages = 3},
     {"kill:stage=stage.0,at=mb1", "kill:stage=stage.1,at=mb1", "kill:stage=stage.2,at=mb1"}},
    {"replicas_die",
     {.model = "gpt", .stages = 2, .replicas = 2, .micro_batches = 6},
     {"kill:stage=stage.1,at=mb2", "kill:stage=stage.0,at=mb3"}},
    {"freezes", {.model = "mlp", .stages = 2}, {"stop:stage=stage.1,at=mb1"}},
};
INSTANTIATE_TEST_SUITE_P(faults, tied_workers, ::testing::ValuesIn(cases),
                         [](const auto& each) { return std::string(each.param.name); });

/// Also between the exchange of sums and the decision, and again while stages start anew.
TEST(tied_workers_that_are_killed, at_times_drawn_by_a_seed_have_the_bits_of_threads) {
  constexpr std::uint64_t steps = 40;
  const setup what{.model = "mlp", .stages = 3, .micro_batches = 2};
  setup alone = what;
  alone.stages = 1;
  const outcome wanted = train_in_threads(alone, steps);
  ::setenv(variable, to_text(what).c_str(), 1);
  std::mt19937_64 chance(47);
  for (int round = 0; round < 4; ++round) {
    fault_plan plan;
    for (int death = 0; death < 4; ++death) {
      const std::string stage = "stage." + std::to_string(chance() % 3);
      plan.add("kill:stage=" + stage + ",at=" + std::to_string(5 + chance() % 200) + "ms");
    }
    auto engine = make_engine(what, true, plan);
    ASSERT_TRUE(engine) << to_string(engine.error());
    (*engine)->set_dataiterator(batches(what));
    expect_same(train(**engine, steps), wanted);
  }
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    const char* const what = std::getenv(variable);
    static_cast<void>(make_engine(what == nullptr ? setup{.model = "gpt"} : from_text(what), true));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  const auto file = fs::temp_directory_path() / ("test-tied-model-" + std::to_string(::getpid()) + ".pt");
  save_model(file);
  ::setenv(file_variable, file.c_str(), 1);
  const int status = RUN_ALL_TESTS();
  fs::remove(file);
  return status;
}
