// Goal: eval_batch and evaluate give with stages in worker processes what they give in one: losses, logits, outputs and
// metrics named per call, also after a worker died or hung in the middle. Method: a table of models and places; losses
// and logits are compared with a plain LibTorch loop, bit for bit. Workers are this program, started again: the
// environment says which engine they belong to, and which of them kills itself once.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include "tests/program/support/plain_loop.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* model_variable = "TROUPE_TEST_MODEL";
constexpr const char* place_variable = "TROUPE_TEST_PLACE";
/// "loss" or "stage": where a worker kills itself. "hang": it never comes back from its loss.
constexpr const char* death_variable = "TROUPE_TEST_DEATH";
/// Where the engine logs, from debug on.
constexpr const char* log_variable = "TROUPE_TEST_LOG";
/// Made by the worker that does.
constexpr const char* dead_variable = "TROUPE_TEST_DEAD";

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// In a worker, at the fifth micro-batch that comes this way, once per test.
void die_once(const char* here) {
  static int calls = 0;  // of one engine thread
  if (program::worker() == nullptr || environment(death_variable) != here || ++calls != 5) return;
  if (::open(environment(dead_variable).c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0) return;
  while (std::string(here) == "hang") ::pause();
  ::raise(SIGKILL);
}

// --- models and their plain loops ------------------------------------------------------------------------------------

std::vector<at::Tensor> two_parts(const at::Tensor& outputs, const at::Tensor& labels) {
  die_once("loss");
  die_once("hang");
  if (labels.eq(99).any().item<bool>()) throw std::runtime_error("a label of 99");
  return {at::nll_loss(outputs, labels), outputs.abs().mean()};
}

torch::nn::Linear linear(std::int64_t in, std::int64_t out) {
  torch::manual_seed(in);
  return torch::nn::Linear(in, out);
}

pipeline_module two_layers() {
  return {.layers = {layer_spec::function("Flatten",
                                          [](const at::Tensor& x) {
                                            die_once("stage");
                                            return x.flatten(1);
                                          }),
                     layer_spec("Linear", [] { return linear(784, 30); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return at::relu(x); }),
                     layer_spec("Linear", [] { return linear(30, 10); })},
          .num_stages = 2,
          .loss_fn = two_parts};
}

/// Outputs of 16 MB per sample: more than a score can hold.
pipeline_module wide() {
  return {
      .layers = {layer_spec::function("Sum", [](const at::Tensor& x) { return x.flatten(1).sum(1, true); }),
                 layer_spec::function("Widen",
                                      [](const at::Tensor& x) {
                                        return x.repeat({1, 4'000'000});
                                      })},
      .num_stages = 2,
      .loss_fn = [](const at::Tensor& outputs, const at::Tensor&) { return std::vector<at::Tensor>{outputs.mean()}; }};
}

const std::string lenet = data_dir() / "mnist/lenet.pt";

at::Tensor plain_forward(const std::string& model, const at::Tensor& inputs) {
  const c10::InferenceMode guard;
  at::set_num_threads(1);
  if (model == "module") return linear(30, 10)->forward(at::relu(linear(784, 30)->forward(inputs.flatten(1))));
  static plain_loop loop(lenet);
  return loop.forward(inputs).clone();
}

/// The values that a call over these batches must give.
struct reference {
  std::vector<std::vector<double>> losses;
  std::vector<double> mean = {0, 0};
  std::vector<at::Tensor> outputs;

  reference(const std::string& model, const std::vector<batch>& batches) {
    for (const batch& each : batches) {
      outputs.push_back(plain_forward(model, each.inputs.only()));
      std::vector<double> parts;
      for (const at::Tensor& part : two_parts(outputs.back(), each.labels.only())) parts.push_back(part.item<double>());
      losses.push_back(parts);
      for (std::size_t part = 0; part < mean.size(); ++part) mean[part] += parts[part];
    }
    for (double& part : mean) part /= static_cast<double>(batches.size());
  }
};

// --- engines ---------------------------------------------------------------------------------------------------------

using engine_ptr = std::unique_ptr<pipeline_engine>;

/// `place`: here, shm, tcp.
expected<engine_ptr> make_engine(const std::string& model, const std::string& place) {
  pipeline_engine_options options{.num_micro_batches = 4, .run = {.threads = 1}, .optimize = optimize_mode::none};
  options.run.workers = {.enabled = place != "here",
                         .transport = place == "tcp" ? transport_kind::tcp : transport_kind::shm};
  if (environment(death_variable) == "hang") options.run.workers.forward_deadline = 2s;
  if (const std::string log = environment(log_variable); !log.empty()) {
    options.run.log = {.file = log, .level = log_level::debug};
  }
  options.call_timeout = 60s;
  options.sinks = {{"second", {"accuracy"}}};
  if (model == "module") return pipeline_engine::create(two_layers(), options);
  if (model == "wide") return pipeline_engine::create(wide(), options);
  options.stages = 2;
  return pipeline_engine::create(lenet, options, model == "file" ? two_parts : loss_function());
}

/// Its workers and its try-out find the same engine.
engine_ptr start_engine(const std::string& model, const std::string& place) {
  ::setenv(model_variable, model.c_str(), 1);
  ::setenv(place_variable, place.c_str(), 1);
  auto made = make_engine(model, place);
  if (!made) throw std::runtime_error(to_string(made.error()));
  return std::move(*made);
}

const data_set_ptr& digits() {
  static const data_set_ptr data = open_data("mnist:" + (data_dir() / "mnist").string()).value();
  return data;
}

/// Micro-batches first to last - 1 of 20 samples.
std::vector<batch> some_batches(std::ptrdiff_t first, std::ptrdiff_t last) {
  static const std::vector<batch> all = batches_of(*digits(), 20, 20 * 40);
  return {all.begin() + first, all.begin() + last};
}

eval_output good(expected<eval_output> output) {
  EXPECT_TRUE(output) << (output ? "" : to_string(output.error()));
  return output ? std::move(*output) : eval_output{};
}

void expect_bits(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t index = 0; index < found.size(); ++index) {
    EXPECT_TRUE(at::equal(found[index], wanted[index])) << index;
    EXPECT_TRUE(found[index].is_contiguous());
  }
}

using two_words = std::tuple<const char*, const char*>;

class batches : public ::testing::TestWithParam<two_words> {
 protected:
  [[nodiscard]] static std::string model() { return std::get<0>(GetParam()); }
  [[nodiscard]] static std::string place() { return std::get<1>(GetParam()); }
};

const std::vector<two_words> everywhere = {{"file", "here"},   {"file", "shm"},   {"file", "tcp"},
                                           {"module", "here"}, {"module", "shm"}, {"module", "tcp"}};

INSTANTIATE_TEST_SUITE_P(everywhere, batches, ::testing::ValuesIn(fewer_if_sanitized(everywhere, {3, 5})),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) + "_" + std::get<1>(each.param);
                         });

TEST_P(batches, have_the_losses_and_logits_of_a_plain_loop) {
  const auto engine = start_engine(model(), place());
  const auto given = some_batches(0, 4);
  const reference plain(model(), given);
  const auto call = [&](eval_batch_options options) {
    const eval_output output = good(engine->eval_batch(batch_list{given}, options));
    EXPECT_EQ(output.micro_batches, 4u);
    EXPECT_EQ(output.samples, 80u);
    EXPECT_FALSE(output.exhausted);
    return output;
  };
  EXPECT_EQ(call({}).loss, plain.mean);
  EXPECT_EQ(call({.reduce_output = reduction::none}).losses, plain.losses);
  const auto both = call({.return_logits = true});
  EXPECT_EQ(both.loss, plain.mean);
  expect_bits(both.logits, plain.outputs);
  const auto alone = call({.compute_loss = false, .reduce_output = reduction::none});
  EXPECT_TRUE(alone.losses.empty());
  EXPECT_TRUE(alone.logits.empty());
  expect_bits(alone.outputs, plain.outputs);
  at::Tensor sum = plain.outputs[0].to(at::kDouble);
  for (std::size_t index = 1; index < 4; ++index) sum = sum + plain.outputs[index];
  expect_bits(call({.compute_loss = false}).outputs, {(sum / 4.0).to(at::kFloat)});
}

TEST_P(batches, end_with_their_iterator_and_keep_queued_calls_apart) {
  const auto engine = start_engine(model(), place());
  const auto given = some_batches(0, 38);
  engine->set_dataiterator(batch_list{given});
  std::vector<eval_future> calls;
  for (int call = 0; call < 11; ++call) {
    calls.push_back(engine->eval_batch_async({}, {.return_logits = call % 2 == 0}));
  }
  for (std::ptrdiff_t call = 0; call < 11; ++call) {
    const std::ptrdiff_t first = std::min<std::ptrdiff_t>(call * 4, 38);
    const std::ptrdiff_t last = std::min<std::ptrdiff_t>(first + 4, 38);
    const auto output = good(calls[static_cast<std::size_t>(call)].get());
    EXPECT_EQ(output.micro_batches, static_cast<std::uint64_t>(last - first)) << call;
    EXPECT_EQ(output.exhausted, last - first < 4) << call;
    const reference plain(model(), some_batches(first, last));
    EXPECT_EQ(output.loss, first == last ? std::vector<double>{} : plain.mean) << call;
    if (call % 2 == 0) expect_bits(output.logits, plain.outputs);
  }
}

TEST_P(batches, fail_alone_when_their_loss_throws) {
  const auto engine = start_engine(model(), place());
  auto bad = some_batches(0, 4);
  bad[2].labels = at::full({20}, 99, at::kLong);
  const auto failed = engine->eval_batch(batch_list{bad});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::metric_failed) << to_string(failed.error());
  EXPECT_THAT(to_string(failed.error()), HasSubstr("a label of 99"));
  const auto given = some_batches(4, 8);
  EXPECT_EQ(good(engine->eval_batch(batch_list{given})).loss, reference(model(), given).mean);
}

TEST_P(batches, stand_beside_evaluations_with_metrics_of_their_own) {
  const auto engine = start_engine(model(), place());
  const auto given = some_batches(0, 4);
  const auto first = engine->evaluate(digits(), 500, {"per_class_accuracy", "cross_entropy"});
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_EQ(good(engine->eval_batch(batch_list{given})).loss, reference(model(), given).mean);
  const auto second = engine->evaluate(digits());
  ASSERT_TRUE(second) << to_string(second.error());
  ASSERT_EQ(first->metrics.size(), 2u);
  EXPECT_EQ(first->metrics[0].name, "per_class_accuracy");
  EXPECT_EQ(first->metrics[0].fields.at(0).reals.size(), 10u) << "classes of the data";
  ASSERT_EQ(second->metrics.size(), 2u);
  EXPECT_EQ(second->metrics[0].name, "accuracy");
  if (model() == "file") {
    EXPECT_EQ((*second)["accuracy"].count("correct"), 9904u);
  }
  double sum = 0;
  for (const batch& each : batches_of(*digits(), 500, 10'000)) {
    const at::Tensor outputs = plain_forward(model(), each.inputs.only());
    sum += at::cross_entropy_loss(outputs, each.labels.only()).item<double>();
  }
  EXPECT_NEAR((*first)["cross_entropy"].value(), sum / 20, 1e-6);
}

// --- deaths ----------------------------------------------------------------------------------------------------------

class a_death : public ::testing::TestWithParam<two_words> {};

const std::vector<two_words> deaths = {{"stage", "shm"}, {"stage", "tcp"}, {"loss", "shm"},
                                       {"loss", "tcp"},  {"hang", "shm"},  {"hang", "tcp"}};

INSTANTIATE_TEST_SUITE_P(in, a_death, ::testing::ValuesIn(fewer_if_sanitized(deaths, {0, 3, 4})), [](const auto& each) {
  return std::string(std::get<0>(each.param)) + "_" + std::get<1>(each.param);
});

TEST_P(a_death, in_the_middle_of_calls_changes_no_bit) {
  std::string scratch = (std::filesystem::temp_directory_path() / "test-batches-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(scratch.data());
  const std::filesystem::path dead = directory / "dead";
  ::setenv(death_variable, std::get<0>(GetParam()), 1);
  ::setenv(dead_variable, dead.c_str(), 1);
  const auto engine = start_engine("module", std::get<1>(GetParam()));
  engine->set_dataiterator(batch_list{some_batches(0, 40)});
  std::vector<eval_future> calls;
  for (int call = 0; call < 10; ++call) calls.push_back(engine->eval_batch_async({}, {.return_logits = true}));
  for (std::ptrdiff_t call = 0; call < 10; ++call) {
    const reference plain("module", some_batches(call * 4, call * 4 + 4));
    const auto output = good(calls[static_cast<std::size_t>(call)].get());
    EXPECT_EQ(output.loss, plain.mean) << call;
    expect_bits(output.logits, plain.outputs);
  }
  EXPECT_TRUE(std::filesystem::exists(dead)) << "no worker died";
  ::unsetenv(death_variable);
  std::filesystem::remove_all(directory);
}

/// Waits for a line of the log, with a deadline; the log as it is then.
std::string log_once_it_has(const std::filesystem::path& file, const std::string& piece) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  for (;;) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    if (text.str().find(piece) != std::string::npos || std::chrono::steady_clock::now() > deadline) return text.str();
    std::this_thread::yield();
  }
}

TEST(the_log_of_an_engine, has_each_record_without_a_call_of_evaluate) {
  std::string scratch = (std::filesystem::temp_directory_path() / "test-batches-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(scratch.data());
  const std::filesystem::path log = directory / "log";
  ::setenv(log_variable, log.c_str(), 1);
  ::setenv(death_variable, "stage", 1);
  ::setenv(dead_variable, (directory / "dead").c_str(), 1);
  auto engine = start_engine("module", "shm");
  EXPECT_THAT(log_once_it_has(log, "was started"), ContainsRegex("debug: \\[rank 0\\] worker 0 \\(process [0-9]+\\)"))
      << "before any call";
  engine->set_dataiterator(batch_list{some_batches(0, 40)});
  for (int call = 0; call < 10; ++call) static_cast<void>(good(engine->eval_batch()));
  EXPECT_THAT(
      log_once_it_has(log, "was replaced after"),
      ContainsRegex("warning: \\[stage 0, rank [0-9]+\\] stage 0 \\(0 Flatten[^)]*, process [0-9]+\\) was replaced "
                    "after [0-9.]+ s, [0-9]+ micro-batch"));
  const auto result = engine->evaluate(digits());
  EXPECT_TRUE(result) << to_string(result.error());
  engine.reset();
  const std::string all = log_once_it_has(log, "was started");
  const std::string death = "was replaced after";
  EXPECT_EQ(all.find(death), all.rfind(death)) << "told twice\n" << all;
  for (const char* each : {log_variable, death_variable}) ::unsetenv(each);
  std::filesystem::remove_all(directory);
}

// --- what cannot be --------------------------------------------------------------------------------------------------

TEST(outputs_beyond_a_score, fail_their_call_and_say_what_to_do) {
  const auto engine = start_engine("wide", "shm");
  const auto given = some_batches(0, 1);
  const auto one = [&] {
    return batch_list{{batch{given[0].inputs.only().slice(0, 0, 1), at::zeros({1}, at::kLong)}}};
  };
  const auto failed = engine->eval_batch(one(), {.return_logits = true, .num_micro_batches = 1});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(failed.error()), HasSubstr("outputs of 16000"));
  EXPECT_THAT(to_string(failed.error()), HasSubstr("use smaller micro-batches, or stages in one process"));
  EXPECT_EQ(good(engine->eval_batch(one(), {.num_micro_batches = 1})).loss.size(), 1u);
}

TEST(a_loss_that_only_the_driver_has, is_said) {
  ::setenv(model_variable, "file without a loss", 1);
  ::setenv(place_variable, "shm", 1);
  const auto engine = make_engine("file", "shm");
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto refused = (*engine)->eval_batch(batch_list{some_batches(0, 4)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::worker_mismatch) << to_string(refused.error());
  EXPECT_THAT(to_string(refused.error()), HasSubstr("this process has no loss function, and its driver has one"));
}

TEST(a_metric_of_ones_own, is_none_that_a_call_can_name_in_workers) {
  const auto engine = start_engine("file", "shm");
  for (const std::string name : {"accuracy", "top3"}) {
    const auto refused = engine->evaluate(digits(), 500, {*make_metric(name, 10), "cross_entropy"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::flags_contradict) << to_string(refused.error());
  }
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(make_engine(environment(model_variable), environment(place_variable)));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
