// Goal: an exception of any code of a user ends its run or call as an error with the right code, which names the
// metric, data set, stage or loss, micro-batch and samples, and what was thrown without C++ stack frames: in one
// process and with workers. Method: code of each kind throws c10::Error, a huge binary text, and a number,
// in the first micro-batch and later. Workers are this program, started again: the environment says
// what they are to throw.
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "messages/try.hpp"
#include "tests/program/support/numbers.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/metric_of.hpp>
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* where_variable = "TROUPE_TEST_WHERE";
constexpr const char* what_variable = "TROUPE_TEST_WHAT";
constexpr const char* workers_variable = "TROUPE_TEST_WORKERS";
constexpr const char* engine_variable = "TROUPE_TEST_ENGINE";

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

constexpr int thrown_number = 7;

void throw_it() {
  const std::string what = environment(what_variable);
  if (what == "number") throw thrown_number;
  if (what == "binary") throw std::runtime_error("on \x1b[31mpurpose\xff " + std::string(1U << 20U, 'x'));
  TORCH_CHECK(false, "on purpose");
}

void may_throw(const std::string& here) {
  if (environment(where_variable) == here) throw_it();
}

/// A row of a micro-batch tells which one it is: sample k is [k, 10 k].
bool is_later(const at::Tensor& rows) {
  return rows.flatten()[0].item<double>() >= 6;
}

class odd_set final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 10; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override {
    may_throw("shape");
    return {2};
  }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 10; }
  [[nodiscard]] std::string name() const override {
    may_throw("name");
    return "odd set";
  }
  [[nodiscard]] std::vector<std::string> files() const override {
    may_throw("files");
    return {};
  }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    // The first micro-batch is read by itself, and what follows in larger blocks.
    may_throw(range.end == 3 ? "first read" : "read");
    return number_set(10).read(range);
  }
};

class odd_metric final : public mean_metric {
 public:
  odd_metric() : mean_metric("odd metric") {}

 private:
  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor&, mean_state&) const override {
    may_throw(is_later(outputs) ? "update" : "first update");
    return {};
  }
};

struct counted {
  std::uint64_t parts = 0;
};

class odd_fold final : public metric_of<counted> {
 public:
  odd_fold() : metric_of("odd fold") {}

 private:
  [[nodiscard]] expected<void> update(const at::Tensor&, const at::Tensor&, counted& state) const override {
    ++state.parts;
    return {};
  }
  void merge(counted& total, const counted& part) const override {
    if (total.parts == 2) may_throw("merge");
    total.parts += part.parts;
  }
  [[nodiscard]] metric_value compute(const counted& total) const override {
    may_throw("compute");
    return {name(), {count_field("parts", total.parts)}};
  }
};

class odd_stage final : public stage_function {
 public:
  void start(const stage_context&) override { may_throw("start"); }
  [[nodiscard]] named_tensors run(const named_tensors& inputs, const micro_batch_info& which) override {
    may_throw(which.samples.begin >= 6 ? "run" : "first run");
    return inputs;
  }
};

topology described() {
  const stage_factory make = [](const stage_context&) {
    may_throw("factory");
    return std::make_shared<odd_stage>();
  };
  const route_predicate all = [](const named_tensors& inputs) {
    may_throw(is_later(inputs.only()) ? "predicate" : "first predicate");
    return at::ones({inputs.only().size(0)}, at::kBool);
  };
  return topology{}
      .source("numbers", std::make_shared<odd_set>())
      .stage("odd stage", make)
      .route("odd route", {{"all", all}, {"rest"}})
      .join("whole", {"all", "rest"})
      .sink("sums", {std::make_shared<odd_metric>(), std::make_shared<odd_fold>()})
      .edge("numbers", "odd stage")
      .edge("odd stage", "odd route")
      .edge("odd route.all", "whole.all")
      .edge("odd route.rest", "whole.rest")
      .edge("whole", "sums");
}

bool has_workers() {
  return environment(workers_variable) == "yes";
}

expected<run_result> run_topology() {
  return run(described(), {.micro_batch = 3, .threads = 1, .workers = {.enabled = has_workers()}});
}

expected<eval_output> run_engine() {
  const auto loss = [](const at::Tensor& outputs, const at::Tensor&) {
    may_throw(is_later(outputs) ? "loss" : "first loss");
    return std::vector<at::Tensor>{outputs.sum()};
  };
  pipeline_module module{.layers = {layer_spec::function("Odd",
                                                         [](const at::Tensor& x) {
                                                           may_throw("forward");
                                                           return x.clone();
                                                         })},
                         .num_stages = 1,
                         .loss_fn = loss};
  if (environment(where_variable) == "build") {
    module.layers.emplace_back("Unmade", []() -> torch::nn::Linear {
      throw_it();
      return torch::nn::Linear(2, 2);
    });
  }
  auto engine = TROUPE_TRY(pipeline_engine::create(
      module,
      {.num_micro_batches = 4, .run = {.threads = 1, .workers = {.enabled = has_workers()}}, .call_timeout = 60s}));
  std::uint64_t pulled = 0;
  engine->set_batch_fn([](batch given) {
    may_throw(is_later(given.inputs.only()) ? "batch function" : "");
    return given;
  });
  return (engine)->eval_batch([&]() -> std::optional<batch> {
    if (pulled == 6) may_throw("iterator");
    if (pulled == 9) return std::nullopt;
    pulled += 3;
    return get(number_set(10).read({pulled - 3, pulled}));
  });
}

struct kind {
  const char* where;
  bool is_engine;
  error_code code;
  /// All are in the error.
  std::vector<std::string> parts;
};

const std::string later = "call 0, micro-batch 2";

std::vector<kind> kinds() {
  using enum error_code;
  return {
      {"shape", false, source_failed, {"odd set: its sample_shape() threw: "}},
      {"name", false, source_failed, {"source: its name() threw: "}},
      {"files", false, source_failed, {"odd set: its files() threw: "}},
      {"first read", false, source_failed, {"odd set: reading samples 0 to 2 threw: "}},
      {"read", false, source_failed, {"odd set", "micro-batch 0", "reading samples 0 to 9 threw: "}},
      {"first update", false, metric_does_not_fit, {"first micro-batch, metric odd metric: it threw: "}},
      {"update", false, metric_failed, {later + " (samples 6 to 8), metric odd metric: it threw: "}},
      {"merge", false, metric_failed, {later + ", metric odd fold, samples 6 to 8: its merge threw: "}},
      {"compute", false, metric_failed, {"metric odd fold: its compute threw: ", "for 10 samples"}},
      {"factory", false, forward_failed, {"odd stage: its factory threw: "}},
      {"start", false, forward_failed, {"odd stage: it could not start: "}},
      {"first run", false, forward_failed, {"odd stage"}},
      {"run", false, forward_failed, {"odd stage, " + later + ", samples 6 to 8: "}},
      {"first predicate", false, forward_failed, {"odd route: the predicate of case \"all\" threw: "}},
      {"predicate", false, forward_failed, {"odd route, " + later + ", samples 6 to 8: the predicate of case \"all\""}},
      {"build", true, forward_failed, {"layer 1 (Unmade): it could not be built: "}},
      {"forward", true, forward_failed, {"layer 0 (Odd)", "call 0, micro-batch 0, samples 0 to 2"}},
      {"first loss", true, metric_failed, {"micro-batch 0 (samples 0 to 2): the loss function threw: "}},
      {"loss", true, metric_failed, {later + " (samples 6 to 8): the loss function threw: "}},
      {"iterator", true, source_failed, {later, "the iterator threw for batch 2, behind 6 samples: "}},
      {"batch function", true, source_failed, {later, "set_batch_fn threw for batch 2, behind 6 samples: "}},
  };
}

error error_of(const kind& each, const std::string& what, bool in_workers) {
  ::setenv(where_variable, each.where, 1);
  ::setenv(what_variable, what.c_str(), 1);
  ::setenv(workers_variable, in_workers ? "yes" : "no", 1);
  ::setenv(engine_variable, each.is_engine ? "yes" : "no", 1);
  const auto found = [](const auto& made) {
    EXPECT_FALSE(made);
    return made ? error{} : made.error();
  };
  return each.is_engine ? found(run_engine()) : found(run_topology());
}

void expect_told(const kind& each, const std::string& what, bool in_workers) {
  SCOPED_TRACE(std::string(each.where) + " throws " + what + (in_workers ? " with workers" : ""));
  const error found = error_of(each, what, in_workers);
  const std::string text = to_string(found);
  EXPECT_EQ(found.code, each.code) << text;
  for (const std::string& part : each.parts) EXPECT_THAT(text, HasSubstr(part));
  for (const char* frame : {"Exception raised from", "frame #", "Traceback"}) EXPECT_THAT(text, Not(HasSubstr(frame)));
  const std::map<std::string, std::string> said = {{"error of LibTorch", "on purpose"},
                                                   {"binary", "on \\x1b[31mpurpose\\xff xx"},
                                                   {"number", "something that is no std::exception"}};
  EXPECT_THAT(text, HasSubstr(said.at(what)));
  EXPECT_LE(text.size(), 1000U);
  EXPECT_EQ(found.where.find('\n') + found.cause.find('\n') + 2, 0U) << "one line: " << text;
}

TEST(user_code, that_throws_is_told_with_its_place) {
  for (const kind& each : kinds()) expect_told(each, "error of LibTorch", false);
}

TEST(user_code, that_throws_a_huge_binary_text_is_told_in_a_printable_line) {
  for (const kind& each : kinds()) expect_told(each, "binary", false);
}

TEST(user_code, that_throws_no_std_exception_is_told_with_its_place) {
  for (const kind& each : kinds()) expect_told(each, "number", false);
}

TEST(user_code, that_throws_with_workers_is_told_alike) {
  for (const kind& each : kinds()) expect_told(each, "error of LibTorch", true);
}

TEST(user_code, that_throws_nothing_ends_well) {
  const kind none{"nowhere", false, error_code::internal, {}};
  ::setenv(where_variable, none.where, 1);
  ::setenv(workers_variable, "no", 1);
  EXPECT_TRUE(run_topology());
  EXPECT_EQ(get(run_engine()).micro_batches, 3U);
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    if (troupe::testing::environment(troupe::testing::engine_variable) == "yes") {
      static_cast<void>(troupe::testing::run_engine());
    } else {
      static_cast<void>(troupe::testing::run_topology());
    }
    return 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
