// Goal: stages on a real GPU give one result for every cut, also in worker processes and after a death. Skipped without
// a GPU. Apart from devices_test, since LibTorch has one accelerator per process.
#include <bit>

#include <gmock/gmock.h>

#include "runtime/tensor/torch_device.hpp"
#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

eval_options resnet(std::uint32_t stages, bool in_workers) {
  eval_options options;
  options.model = (data_dir() / "cifar10/resnet20.pt").string();
  options.data = "cifar10:" + (data_dir() / "cifar10/test_batch_1000.bin").string();
  options.metrics = {"accuracy", "cross_entropy"};
  options.run.micro_batch = 32;
  options.optimize = optimize_mode::none;
  options.device = "cuda:0";
  options.stages = stages;
  options.run.workers.enabled = in_workers;
  return options;
}

expected<run_result> run_on_gpu(const eval_options& options) {
  auto created = evaluator::create(options, {});
  if (!created) return tl::make_unexpected(created.error());
  return (*created)->run();
}

/// Correct samples, and the bits of the loss.
std::pair<std::uint64_t, std::uint64_t> numbers_of(const expected<run_result>& result) {
  EXPECT_TRUE(result) << to_string(result.error());
  if (!result) return {};
  return {(*result)["accuracy"].count("correct"),
          std::bit_cast<std::uint64_t>((*result)["cross_entropy"].value("sum"))};
}

TEST(cuda_stages, give_the_same_for_every_cut_and_after_a_death) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  const auto numbers = numbers_of(run_on_gpu(resnet(1, false)));
  for (const std::uint32_t stages : {2u, 4u}) EXPECT_EQ(numbers_of(run_on_gpu(resnet(stages, false))), numbers);
  eval_options disturbed = resnet(2, true);
  disturbed.run.faults.add("kill:stage=stage.1,at=mb9");
  EXPECT_EQ(numbers_of(run_on_gpu(disturbed)), numbers);
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(troupe::testing::run_on_gpu(troupe::testing::resnet(2, true)));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
