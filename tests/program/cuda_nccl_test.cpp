// Goal: two stages in two processes whose tensors go over the real NCCL give the numbers of one process, also after a
// death. Skipped without a GPU or NCCL. Method: one GPU is enough, as each process says that it is a machine of its
// own; NCCL refuses two ranks of one machine on one GPU.
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "runtime/cuda/nccl_library.hpp"
#include "runtime/tensor/torch_device.hpp"
#include "tests/program/support/gpu_runs.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

eval_options over_nccl() {
  eval_options options = resnet_on_gpu(2, true);
  options.run.workers.transport = transport_kind::nccl;
  return options;
}

constexpr const char* as_one_machine = "TROUPE_TEST_AS_ONE_MACHINE";

void be_a_machine_of_its_own() {
  if (std::getenv(as_one_machine) != nullptr) return;
  ::setenv("NCCL_HOSTID", std::to_string(::getpid()).c_str(), 1);
}

TEST(cuda_nccl, gives_the_numbers_of_one_process_also_after_a_death) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  if (const auto library = nccl_library::load(); !library) GTEST_SKIP() << to_string(library.error());
  const auto numbers = numbers_of(run_on_gpu(resnet_on_gpu(1, false)));
  eval_options disturbed = over_nccl();
  EXPECT_EQ(numbers_of(run_on_gpu(disturbed)), numbers);
  disturbed.run.faults.add("kill:stage=stage.1,at=mb9");
  EXPECT_EQ(numbers_of(run_on_gpu(disturbed)), numbers);
}

TEST(cuda_nccl, is_refused_between_two_stages_on_one_gpu) {
  const auto gpu = torch_device({device_kind::cuda, 0}, "of the test", 0);
  if (!gpu) GTEST_SKIP() << to_string(gpu.error());
  static_cast<void>(run_on_gpu(resnet_on_gpu(1, false)));  // from here on workers are started, not copied
  const std::string before = std::getenv("NCCL_HOSTID");
  ::setenv(as_one_machine, "1", 1);
  ::unsetenv("NCCL_HOSTID");
  const auto result = run_on_gpu(over_nccl());
  ::unsetenv(as_one_machine);
  ::setenv("NCCL_HOSTID", before.c_str(), 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, error_code::device_unavailable) << to_string(result.error());
  EXPECT_THAT(to_string(result.error()), ::testing::HasSubstr("two neighbours are on cuda:0"));
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  ::setenv("NCCL_NET", "Socket", 0);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  const troupe::program self(argc, argv);
  be_a_machine_of_its_own();  // in the copies, too, which go on from here
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(run_on_gpu(over_nccl()));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
