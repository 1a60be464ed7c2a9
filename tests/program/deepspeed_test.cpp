// Goal: an engine that is set up from a DeepSpeed configuration evaluates the batches that DeepSpeed would. Method: the
// file of a test, LeNet, and counts by hand.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <unistd.h>

#include "tests/support/paths.hpp"
#include <troupe/pipeline_engine.hpp>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class deepspeed_settings_of : public ::testing::Test {
 protected:
  ~deepspeed_settings_of() override { fs::remove(file_); }
  expected<deepspeed_settings> read(const std::string& text, std::uint32_t replicas = 1) {
    std::ofstream(file_) << text;
    return read_deepspeed_settings(file_.string(), replicas);
  }

  fs::path file_ = fs::path(::testing::TempDir()) / ("troupe-" + std::to_string(::getpid()) + ".json");
};

TEST_F(deepspeed_settings_of, a_file_are_all_that_it_says) {
  const auto settings = read(R"({"train_batch_size": 48, "gradient_accumulation_steps": 3, "fp16": {"enabled": true},
                                 "pipeline": {"stages": 2, "partition": "uniform"}, "amp": {}})",
                             2);
  ASSERT_TRUE(settings) << to_string(settings.error());
  EXPECT_EQ(settings->train_batch_size, 48U);
  EXPECT_EQ(settings->micro_batch, 8U);
  EXPECT_EQ(settings->gradient_accumulation_steps, 3U);
  EXPECT_EQ(settings->stages, 2U);
  EXPECT_EQ(settings->partition, "uniform");
  EXPECT_EQ(settings->dtype, at::kHalf);
  EXPECT_THAT(settings->warnings, ElementsAre(HasSubstr("ignored: amp")));
}

TEST_F(deepspeed_settings_of, a_file_are_not_more) {
  const auto settings = read(R"({"train_micro_batch_size_per_gpu": 8})");
  ASSERT_TRUE(settings) << to_string(settings.error());
  EXPECT_EQ(settings->train_batch_size, 8U);
  EXPECT_FALSE(settings->stages || settings->partition || settings->dtype);
  EXPECT_EQ(read(R"({"train_batch_size": 9})", 2).error().code, error_code::config_bad_value);
  for (const std::uint32_t replicas : {0U, limits::replicas_max + 1})
    EXPECT_EQ(read(R"({"train_batch_size": 9})", replicas).error().code, error_code::value_out_of_range);
}

TEST_F(deepspeed_settings_of, a_file_set_up_an_engine) {
  constexpr std::uint32_t replicas = 2;
  const auto settings = get(read(R"({"train_batch_size": 12, "gradient_accumulation_steps": 3,
                                     "pipeline": {"stages": 2, "partition": "parameters"}})",
                                 replicas));
  const auto engine = get(pipeline_engine::create((testing::source_dir() / "data/mnist/lenet.pt").string(),
                                                  {.stages = settings.stages,
                                                   .replicas = replicas,
                                                   .num_micro_batches = settings.gradient_accumulation_steps * replicas,
                                                   .run = {.micro_batch = settings.micro_batch},
                                                   .partition = settings.partition,
                                                   .dtype = settings.dtype}));
  EXPECT_EQ(engine->num_stages(), 2U);
  const auto size = static_cast<std::int64_t>(settings.micro_batch);
  const auto output = get(engine->eval_batch(
      [&] {
        return batch{at::rand({size, 1, 28, 28}), {}};
      },
      {.compute_loss = false, .reduce_output = reduction::none}));
  EXPECT_EQ(output.micro_batches, 6U);
  EXPECT_EQ(output.samples, settings.train_batch_size);
}

}  // namespace
}  // namespace troupe
