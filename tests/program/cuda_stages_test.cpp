// Goal: stages on a real GPU give one result for every cut, also in worker processes and after a death; they mix with
// stages on the CPU; what cannot be is refused in words. Skipped without a GPU. Apart from devices_test, since LibTorch
// has one accelerator per process.
#include <ATen/ATen.h>

#include "runtime/tensor/torch_device.hpp"
#include "tests/program/support/gpu_runs.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

data_set_ptr images() {
  return open_data("cifar10:" + (data_dir() / "cifar10/test_batch_1000.bin").string()).value();
}

TEST(cuda_stages, give_the_same_for_every_cut_and_after_a_death) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  const auto numbers = numbers_of(run_on_gpu(resnet_on_gpu(1, false)));
  for (const std::uint32_t stages : {2u, 4u}) EXPECT_EQ(numbers_of(run_on_gpu(resnet_on_gpu(stages, false))), numbers);
  eval_options disturbed = resnet_on_gpu(2, true);
  EXPECT_EQ(numbers_of(run_on_gpu(disturbed)), numbers);
  disturbed.run.faults.add("kill:stage=stage.1,at=mb9");
  EXPECT_EQ(numbers_of(run_on_gpu(disturbed)), numbers);
}

TEST(cuda_stages, give_the_same_as_graphs_also_after_a_death) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  const auto numbers = numbers_of(run_on_gpu(resnet_on_gpu(1, false)));
  for (const std::uint32_t stages : {1u, 4u}) {
    eval_options recorded = resnet_on_gpu(stages, false);
    recorded.cuda_graphs = true;
    EXPECT_EQ(numbers_of(run_on_gpu(recorded)), numbers);
  }
  eval_options disturbed = resnet_on_gpu(2, true);
  disturbed.cuda_graphs = true;
  disturbed.run.faults.add("kill:stage=stage.1,at=mb9");
  EXPECT_EQ(numbers_of(run_on_gpu(disturbed)), numbers);
}

/// Before: on the CPU, in 8 bits. The model: on the GPU. After: on the CPU again.
topology mixed(const std::string& device) {
  return topology{}
      .source("images", images())
      .stage("bytes", [](const at::Tensor& x) { return (x * 255).round().to(at::kByte); })
      .stage("pixels", [](const at::Tensor& x) { return x.to(at::kFloat) / 255; }, {.device = device})
      .pipeline("resnet", (data_dir() / "cifar10/resnet20.pt").string(),
                {.stages = 2, .optimize = optimize_mode::none, .device = device})
      .stage("shares", [](const at::Tensor& x) { return x.softmax(1).log(); })
      .sink("metrics", {"accuracy", "nll"});
}

TEST(cuda_stages, mix_with_the_cpu_in_a_chain) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  const auto there = run(mixed("cuda:0"), {.micro_batch = 32});
  const auto here = run(mixed("cpu"), {.micro_batch = 32});
  ASSERT_TRUE(there) << to_string(there.error());
  ASSERT_TRUE(here) << to_string(here.error());
  // cuDNN convolves float32 in TF32, with 10 bits of mantissa.
  EXPECT_NEAR((*there)["nll"].value(), (*here)["nll"].value(), 1e-2);
  EXPECT_NEAR((*there)["accuracy"].value(), (*here)["accuracy"].value(), 5e-3);
}

TEST(cuda_stages, without_memory_name_stage_bytes_and_a_way_out) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  const auto result = run(topology{}
                              .source("images", images())
                              .stage("greedy",
                                     [](const at::Tensor& x) {
                                       return at::zeros({std::int64_t{1} << 42}, x.options()).slice(0, 0, x.size(0));
                                     },
                                     {.device = "cuda:0"})
                              .sink("metrics", {"mae"}),
                          {.micro_batch = 32});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, error_code::forward_failed) << to_string(result.error());
  EXPECT_THAT(to_string(result.error()), AllOf(HasSubstr("greedy"), HasSubstr("16384"), HasSubstr("free")));
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(run_on_gpu(resnet_on_gpu(2, true)));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
