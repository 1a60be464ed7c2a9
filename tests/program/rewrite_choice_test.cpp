// Goal: blocks that LibTorch's freeze folds wrongly are right, rewritten as well as in every cut, in engines and in
// resumed runs; results that are not repeatable are an error, or a warning where that is allowed. Method: a plain loop
// over their forward in LibTorch's interpreter.
#include "program/models/rewrite_choice.hpp"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/journal/open_journal.hpp"
#include "tests/runtime/model/torchscript.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/pipeline_engine.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t rows = 70;
constexpr std::int64_t classes = 7;

class tensor_set_of final : public data_set {
 public:
  tensor_set_of(at::Tensor inputs, at::Tensor labels) : inputs_(std::move(inputs)), labels_(std::move(labels)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return static_cast<std::uint64_t>(inputs_.size(0)); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return inputs_.sizes().slice(1).vec(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return testing::classes; }
  [[nodiscard]] std::string name() const override { return "tensors"; }
  [[nodiscard]] std::vector<std::string> files() const override {
    return {std::filesystem::read_symlink("/proc/self/exe").string()};
  }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto part = [&](const at::Tensor& all) {
      return all.slice(0, static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end)).clone();
    };
    return sample_block{part(inputs_), part(labels_)};
  }

 private:
  at::Tensor inputs_;
  at::Tensor labels_;
};

torch::jit::Module with_norm(const std::string& name, std::int64_t in, std::int64_t out, const std::string& body) {
  torch::jit::Module module(name);
  module.register_parameter("weight", at::randn({out, in}) / 3, false);
  module.register_parameter("bias", at::randn({out}), false);
  module.register_buffer("scale", at::rand({out}) * 1.5 + 0.5);
  module.register_buffer("mean", at::rand({out}) * 2 - 1);
  module.register_buffer("var", at::rand({out}) * 1.5 + 0.5);
  module.define("def forward(self, x):\n  y = torch.linear(x, self.weight, self.bias)\n" + body);
  return module;
}

const std::string norm = "torch.batch_norm(y, self.scale, None, self.mean, self.var, False, 0.1, 1e-5, False)";

struct wrong_fold {
  std::string name;
  std::vector<std::int64_t> sample;
  torch::jit::Module model;
};

wrong_fold make_case(const std::string& name) {
  at::manual_seed(3);
  if (name == "skip") {  // the output of the linear layer is used twice
    const auto block = with_norm("Skip", 12, 5, "  return " + norm + " + y\n");
    return {name, {12}, sequential("Net", {{"block", block}, {"head", linear("Linear", 5, classes)}})};
  }
  if (name == "tokens") {  // normalised over tokens, not over features
    const auto block = with_norm("Tokens", 12, 5, "  return torch.flatten(torch.relu(" + norm + "), 1)\n");
    return {name, {5, 12}, sequential("Net", {{"block", block}, {"head", linear("Linear", 25, classes)}})};
  }
  torch::jit::Module row("Row");  // a constant per column, as wide as there are channels
  row.register_parameter("weight", at::randn({4, 3, 3, 3}) / 3, false);
  row.register_parameter("bias", at::randn({4}), false);
  row.register_buffer("k", at::rand({1, 4}));
  row.define(
      "def forward(self, x):\n"
      "  return torch.flatten(torch.conv2d(x, self.weight, self.bias, [1, 1], [1, 1]) * self.k, 1)\n");
  return {name, {3, 5, 4}, sequential("Net", {{"block", row}, {"head", linear("Linear", 80, classes)}})};
}

data_set_ptr data_of(const wrong_fold& one) {
  at::manual_seed(4);
  std::vector<std::int64_t> shape = one.sample;
  shape.insert(shape.begin(), rows);
  const at::Tensor inputs = at::randn(shape);
  return std::make_shared<tensor_set_of>(inputs, at::randint(0, classes, {rows}, at::kLong));
}

struct plain_result {
  std::uint64_t correct = 0;
  double loss = 0;
};

plain_result plain_loop(const wrong_fold& one) {
  torch::jit::Module model = one.model;
  model.eval();
  const auto block = *data_of(one)->read({0, rows});
  const at::Tensor labels = block.labels.only();
  const at::Tensor outputs = model.forward({block.inputs.only()}).toTensor().to(at::kDouble);
  const at::Tensor losses = -at::log_softmax(outputs, 1).gather(1, labels.unsqueeze(1));
  return {static_cast<std::uint64_t>(outputs.argmax(1).eq(labels).sum().item<std::int64_t>()),
          losses.mean().item<double>()};
}

struct logged {
  std::vector<std::string> lines;
  evaluation_hooks hooks() {
    return {.on_log = [this](const log_record& record) { lines.push_back(to_string(record)); }};
  }
};

topology evaluation_of(const model_source& model, const data_set_ptr& data, cut_options how) {
  return topology{}
      .source("data", data)
      .pipeline("p", model, std::move(how))
      .sink("all", {"accuracy", "cross_entropy"});
}

class wrong_folds : public ::testing::TestWithParam<const char*> {};

TEST_P(wrong_folds, are_not_made_in_any_cut) {
  const wrong_fold one = make_case(GetParam());
  const plain_result right = plain_loop(one);
  for (const optimize_mode mode : {optimize_mode::graph, optimize_mode::none}) {
    for (const std::uint32_t stages : {1U, 2U}) {
      logged log;
      const auto result = run(evaluation_of(one.model, data_of(one), {.stages = stages, .optimize = mode}),
                              {.micro_batch = 16, .threads = 1}, log.hooks());
      ASSERT_TRUE(result) << to_string(result.error());
      EXPECT_EQ((*result)["accuracy"].count("correct"), right.correct);
      EXPECT_NEAR((*result)["cross_entropy"].value(), right.loss, 1e-5);
      EXPECT_TRUE(result->plain_pipelines.empty());
      EXPECT_THAT(log.lines, IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, wrong_folds, ::testing::Values("skip", "tokens", "row"));

TEST(ordinary_models, are_rewritten) {
  const auto mnist = "mnist:" + (data_dir() / "mnist").string();
  const auto cifar = "cifar10:" + (data_dir() / "cifar10").string();
  for (const auto& [model, data] :
       std::map<std::string, std::string>{{lenet_file().string(), mnist}, {resnet_file().string(), cifar}}) {
    for (const optimize_mode mode : {optimize_mode::graph, optimize_mode::none}) {
      eval_options options{.model = model, .data = data, .stages = 2, .optimize = mode};
      options.run.limit = 64;
      options.run.threads = 1;
      logged log;
      auto made = evaluator::create(options, log.hooks());
      ASSERT_TRUE(made) << to_string(made.error());
      const auto result = (*made)->run();
      ASSERT_TRUE(result) << to_string(result.error());
      EXPECT_TRUE(result->plain_pipelines.empty()) << model;
      EXPECT_TRUE(result->warnings.empty());
      EXPECT_THAT(log.lines, IsEmpty());
    }
  }
}

TEST(engines, rewrite_with_and_without_a_sample) {
  const wrong_fold one = make_case("skip");
  const scratch_dir dir;
  const std::string file = (dir.path() / "model.pt").string();
  one.model.save(file);
  const plain_result right = plain_loop(one);
  for (const bool has_sample : {true, false}) {
    pipeline_engine_options options{.run = {.micro_batch = 16, .threads = 1}};
    if (has_sample) options.sample = (*data_of(one)->read({0, 16})).inputs.only();
    auto engine = pipeline_engine::create(file, options);
    ASSERT_TRUE(engine) << to_string(engine.error());
    const auto result = (*engine)->evaluate(data_of(one));
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_EQ((*result)["accuracy"].count("correct"), right.correct);
    EXPECT_TRUE(result->plain_pipelines.empty());
  }
}

TEST(resumed_runs, go_on_in_the_same_mode_only) {
  const wrong_fold one = make_case("skip");
  const scratch_dir dir;
  run_options options{.micro_batch = 16, .threads = 1, .journal = {.file = (dir.path() / "run.journal").string()}};
  const auto what = [&](std::uint32_t stages) { return evaluation_of(one.model, data_of(one), {.stages = stages}); };
  const auto first = run(what(1), options);
  ASSERT_TRUE(first) << to_string(first.error());
  options.journal.resume = true;
  const auto again = run(what(2), options);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_THAT(again->plain_pipelines, IsEmpty());
  const auto other = run(evaluation_of(one.model, data_of(one), {.optimize = optimize_mode::none}), options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, error_code::journal_mismatch);
}

torch::jit::Module with_layer(const std::string& forward) {
  at::manual_seed(5);
  return sequential("Net", {{"first", linear("Linear", 12, 5)},
                            {"odd", scripted("Odd", "def forward(self, x):\n" + forward)},
                            {"last", linear("Linear", 5, classes)}});
}

TEST(random_models, are_an_error_that_names_layer_and_operator_unless_they_are_allowed) {
  const auto data = data_of(make_case("skip"));
  const auto model = with_layer("  return torch.dropout(x, 0.5, True)\n");
  for (const optimize_mode mode : {optimize_mode::graph, optimize_mode::none}) {
    const auto refused = run(evaluation_of(model, data, {.stages = 2, .optimize = mode}), {.threads = 1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::model_not_repeatable);
    EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("layer 1 (odd Odd)"), HasSubstr("aten::dropout"),
                                                  HasSubstr("model.eval()"), HasSubstr("--allow-random")));
    logged log;
    const auto taken = run(evaluation_of(model, data, {.stages = 2, .optimize = mode, .allow_random = true}),
                           {.threads = 1}, log.hooks());
    ASSERT_TRUE(taken) << to_string(taken.error());
    EXPECT_THAT(taken->warnings, Contains(AllOf(HasSubstr("layer 1 (odd Odd)"), HasSubstr("aten::dropout"))));
    EXPECT_THAT(log.lines, Contains(HasSubstr("aten::dropout")));
    const bool is_asked_to_rewrite = mode == optimize_mode::graph;
    EXPECT_EQ(taken->plain_pipelines, is_asked_to_rewrite ? std::vector<std::string>{"p"} : std::vector<std::string>{});
  }
}

TEST(random_models, run_as_they_stand_also_where_a_run_goes_on) {
  const scratch_dir dir;
  const auto data = data_of(make_case("skip"));
  const auto model = with_layer("  return torch.dropout(x, 0.5, True)\n");
  run_options options{.threads = 1, .journal = {.file = (dir.path() / "run.journal").string()}};
  for (const bool resumes : {false, true}) {
    options.journal.resume = resumes;
    const auto result = run(evaluation_of(model, data, {.allow_random = true}), options);
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(result->plain_pipelines, ElementsAre("p"));
    EXPECT_EQ(journal_pin_of(options.journal.file, "runs_plain"), "yes");
  }
}

/// No operator tells: the layer reads what it wrote before.
TEST(random_models, are_found_by_what_they_give) {
  torch::jit::Module odd("Odd");
  odd.register_buffer("seen", at::zeros({5}));
  odd.define("def forward(self, x):\n  self.seen.add_(1)\n  return x + self.seen\n");
  const auto model = sequential("Net", {{"first", linear("Linear", 12, 5)}, {"odd", odd}});
  const auto data = data_of(make_case("skip"));
  const auto refused = run(evaluation_of(model, data, {.optimize = optimize_mode::none}), {.threads = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::model_not_repeatable);
  EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("layer 1 (odd Odd)"), HasSubstr("second time")));
}

TEST(random_stages, of_code_are_found_by_what_they_give) {
  const auto data = data_of(make_case("skip"));
  const auto draw = [](const at::Tensor& x) { return x + at::rand_like(x); };
  const auto refused =
      run(topology{}.source("data", data).stage("draw", draw).sink("all", {}), {.micro_batch = 16, .threads = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::model_not_repeatable);
  EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("stage 'draw'"), HasSubstr("allow_random")));
  const auto taken = run(topology{}.source("data", data).stage("draw", draw, {.allow_random = true}).sink("all", {}),
                         {.micro_batch = 16, .threads = 1});
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_THAT(taken->warnings, Contains(HasSubstr("stage 'draw'")));
}

}  // namespace
}  // namespace troupe::testing
