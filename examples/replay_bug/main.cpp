// A test of a topology under faults, as one writes it for stages of one's own. One stage keeps a state that changes its
// result. The try-out finds this one, as it runs each stage twice on the first micro-batch. A state that shows later
// passes it, and then no undisturbed run shows it, however often it is repeated. A random plan does, which is then
// shrunk to the one fault that it takes.
#include <iostream>
#include <optional>
#include <string>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>

namespace {

std::string data_directory = "data";

/// The bug: brightness is measured against the images that came before. A micro-batch that is sent again after a loss
/// is counted a second time, so that all that follow are measured against something else. The contract of
/// stage_function: equal inputs give equal outputs.
class relative_brightness final : public troupe::stage_function {
 public:
  [[nodiscard]] troupe::named_tensors run(const troupe::named_tensors& inputs,
                                          const troupe::micro_batch_info&) override {
    mean_ = 0.9 * mean_ + 0.1 * inputs.only().mean().item<double>();
    return at::sub(inputs.only(), mean_);
  }
  [[nodiscard]] bool may_write_input() const noexcept override { return false; }

 private:
  double mean_ = 0;
};

/// Stands for a model: ten pixels as log-probabilities.
at::Tensor guess(const at::Tensor& images) {
  return at::log_softmax(images.flatten(1).narrow(1, 370, 10), 1);
}

troupe::run_result run_under(const troupe::fault_plan& plan) {
  const auto topology = troupe::topology{}
                            .source("loader", "mnist:" + data_directory + "/mnist")
                            .stage("brightness", troupe::stage_factory([](const troupe::stage_context&) {
                                     return std::make_shared<relative_brightness>();
                                   }),
                                   {.allow_random = true})
                            .stage("guess", guess)
                            .sink("metrics", {"nll"});
  return troupe::get(troupe::run(
      topology,
      {.micro_batch = 16, .threads = 1, .limit = 1600, .log = {.level = troupe::log_level::error}, .faults = plan}));
}

/// What a plan can name here: no process, so that it runs in any test.
troupe::fault_shape shape() {
  return {.stages = {{"brightness", 1, false}, {"guess", 1, false}}, .micro_batches = 100};
}

TEST(brightness, is_refused_unless_that_is_allowed) {
  const auto strict = troupe::topology{}
                          .source("loader", "mnist:" + data_directory + "/mnist")
                          .stage("brightness", std::make_shared<relative_brightness>())
                          .sink("all", {});
  const auto refused = troupe::run(strict, {.threads = 1, .limit = 64});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, troupe::error_code::model_not_repeatable);
}

TEST(brightness, is_the_same_however_often_it_is_run) {
  EXPECT_EQ(troupe::first_difference(run_under({}), run_under({})), std::nullopt);
}

TEST(brightness, does_not_survive_a_replay) {
  const troupe::run_result undisturbed = run_under({});
  // Real threads: whether a fault leaves anything to send again depends on where the others are just then.
  const auto differing_run = [&](const troupe::fault_plan& plan) -> std::optional<troupe::run_result> {
    for (int tries = 0; tries < 5; ++tries) {
      auto disturbed = run_under(plan);
      if (troupe::first_difference(undisturbed, disturbed)) return disturbed;
    }
    return std::nullopt;
  };
  const auto fails = [&](const troupe::fault_plan& plan) { return differing_run(plan).has_value(); };
  std::optional<troupe::fault_plan> found;
  std::uint64_t seed = 1;
  for (; seed <= 50 && !found; ++seed) {
    const auto plan = troupe::random_plan(seed, shape());
    if (fails(plan)) found = plan;
  }
  ASSERT_TRUE(found) << "no plan of 50 seeds shows the bug";
  const auto least = troupe::shrink(*found, fails);

  ASSERT_EQ(least.faults().size(), 1u);
  const auto disturbed = differing_run(least);
  ASSERT_TRUE(disturbed);
  EXPECT_GT(disturbed->delivery.replayed, 0u);
  std::cout << "seed " << seed - 1 << " has " << found->faults().size()
            << " faults, of which one is enough: " << least.texts().front() << "\nit makes "
            << troupe::first_difference(undisturbed, *disturbed).value_or("-") << "\nbecause "
            << disturbed->delivery.replayed << " micro-batches were sent again, and the stage counted them twice\n";
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc > 1) data_directory = argv[1];
  return RUN_ALL_TESTS();
}
