// Goal: an engine of a model with several inputs takes them by name, in any order, and gives the values of eager
// PyTorch with stages in this process and in workers; inputs that do not fit end the call, and not the engine. Method:
// BERT with ids and a mask, recorded in Python with its results (tests/runtime/exported/recorded). Workers are this
// program, started again.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include "tests/support/paths.hpp"
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* place_variable = "TROUPE_TEST_PLACE";

std::filesystem::path recorded(const std::string& name) {
  return source_dir() / "tests/runtime/exported/recorded" / name;
}

struct recorded_batch {
  at::Tensor ids;
  at::Tensor mask;
  at::Tensor pooled;
};

std::vector<recorded_batch> recorded_batches() {
  std::ifstream file(recorded("bert.values.pt"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<recorded_batch> all;
  const c10::IValue calls = torch::jit::pickle_load({bytes.begin(), bytes.end()});
  for (const c10::IValue& each : calls.toListRef()) {
    const auto both = each.toListRef();
    const auto inputs = both[0].toListRef();
    all.push_back({inputs[0].toTensor(), inputs[1].toTensor(), both[1].toListRef()[1].toTensor()});
  }
  return all;
}

expected<std::unique_ptr<pipeline_engine>> make_engine(const std::string& place, named_tensors sample = {}) {
  pipeline_engine_options options{.stages = 2, .run = {.threads = 1}, .optimize = optimize_mode::none};
  options.run.workers.enabled = place == "workers";
  options.sample = std::move(sample);
  options.score.tensor = "pooler_output";
  options.call_timeout = std::chrono::seconds(60);
  return pipeline_engine::create(recorded("bert.pt2").string(), options);
}

data_iterator once(batch given) {
  return [given = std::optional(std::move(given))]() mutable { return std::exchange(given, std::nullopt); };
}

class engine_in : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv(place_variable, GetParam(), 1);
    const auto first = recorded_batches().at(0);
    auto made = make_engine(GetParam(), {{"input_ids", first.ids}, {"attention_mask", first.mask}});
    ASSERT_TRUE(made) << to_string(made.error());
    engine_ = std::move(*made);
  }

  expected<eval_output> outputs_of(named_tensors inputs) {
    return engine_->eval_batch(once({.inputs = std::move(inputs), .labels = {}}), {.compute_loss = false});
  }
  std::string refusal_of(named_tensors inputs) {
    const auto outcome = outputs_of(std::move(inputs));
    return outcome ? "good" : to_string(outcome.error());
  }
  void expect_good() {
    for (const recorded_batch& each : recorded_batches()) {
      for (const named_tensors& inputs : {named_tensors{{"input_ids", each.ids}, {"attention_mask", each.mask}},
                                          named_tensors{{"attention_mask", each.mask}, {"input_ids", each.ids}}}) {
        const auto given = outputs_of(inputs);
        ASSERT_TRUE(given) << to_string(given.error());
        EXPECT_EQ(given->samples, static_cast<std::uint64_t>(each.ids.size(0)));
        EXPECT_TRUE(at::allclose(given->outputs.at(0), each.pooled, 1e-5, 1e-6));
      }
    }
  }

  std::unique_ptr<pipeline_engine> engine_;
};

TEST_P(engine_in, gives_the_values_of_eager_pytorch) {
  expect_good();
}

TEST_P(engine_in, refuses_inputs_that_do_not_fit_and_goes_on) {
  const recorded_batch one = recorded_batches().at(0);
  EXPECT_THAT(refusal_of({{"input_ids", one.ids}}),
              AllOf(HasSubstr("the model takes the inputs \"input_ids\", \"attention_mask\""),
                    HasSubstr("the data have \"input_ids\""), HasSubstr("fix: name the inputs")));
  EXPECT_THAT(refusal_of({{"input_ids", one.ids}, {"mask", one.mask}}), HasSubstr("\"mask\""));
  EXPECT_THAT(refusal_of({{"input_ids", one.ids}, {"attention_mask", one.mask}, {"more", one.mask}}),
              HasSubstr("\"more\""));
  EXPECT_THAT(refusal_of({{"input_ids", one.ids.to(at::kFloat)}, {"attention_mask", one.mask}}),
              AllOf(HasSubstr("error E0602"), HasSubstr("embedding")));
  EXPECT_THAT(refusal_of({{"input_ids", one.ids}, {"attention_mask", one.mask.narrow(0, 0, 2)}}),
              AllOf(HasSubstr("error E0"), HasSubstr("fix: ")));
  expect_good();
}

INSTANTIATE_TEST_SUITE_P(all, engine_in, ::testing::Values("here", "workers"),
                         [](const auto& row) { return std::string(row.param); });

TEST(engine, tells_that_its_sample_decides_which_optional_inputs_there_are) {
  const auto file = std::filesystem::temp_directory_path() / ("optional-" + std::to_string(::getpid()) + ".pt");
  torch::jit::Module scaled("Scaled");
  scaled.define("def forward(self, x, mask: Optional[Tensor] = None):\n  return x if mask is None else x * mask\n");
  scaled.save(file.string());
  const named_tensors both{{"x", at::ones({2, 3})}, {"mask", at::full({2, 3}, 2.0)}};
  const auto outcome_of = [&](const named_tensors& sample) {
    const auto engine = get(pipeline_engine::create(file.string(), {.sample = sample}));
    return engine->eval_batch(once({.inputs = both, .labels = {}}), {.compute_loss = false});
  };
  const auto refused = outcome_of({});
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()),
              AllOf(HasSubstr("\"mask\" is optional"), HasSubstr("fix: give the option `sample`")));
  const auto taken = outcome_of(both);
  std::filesystem::remove(file);
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_TRUE(at::equal(taken->outputs.at(0), both["mask"]));
}

TEST(engine, refuses_a_sample_that_lacks_an_input) {
  const recorded_batch one = recorded_batches().at(0);
  const auto made = make_engine("here", {{"input_ids", one.ids}, {"mask", one.mask}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::model_rejects_sample) << to_string(made.error());
  EXPECT_THAT(to_string(made.error()), HasSubstr("\"attention_mask\""));
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    const char* const place = std::getenv(place_variable);
    const auto first = recorded_batches().at(0);
    static_cast<void>(
        make_engine(place == nullptr ? "" : place, {{"input_ids", first.ids}, {"attention_mask", first.mask}}));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
