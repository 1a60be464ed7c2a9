// Goal: LibTorch's kernels for CUDA are loaded into a program that was built without them, and results on the CPU stay
// as they are. Where they are not installed the cause names the file and the way out.
#include <ATen/Functions.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include "runtime/tensor/torch_cuda.hpp"

namespace troupe {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const c10::Device first_gpu(c10::DeviceType::CUDA, 0);

bool has_gpu() {
  return c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA) &&
         c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount() > 0;
}

TEST(cuda_kernels, are_loaded_at_run_time_or_say_what_is_missing) {
  const at::Tensor numbers = at::arange(12, at::kFloat).reshape({3, 4});
  const at::Tensor before = at::mm(numbers, numbers.t());
  const auto loaded = load_torch_cuda();
  EXPECT_TRUE(at::equal(before, at::mm(numbers, numbers.t())));
  if (!loaded) {
    EXPECT_EQ(loaded.error().code, error_code::library_unusable);
    EXPECT_THAT(loaded.error().where, HasSubstr("/libtorch_cuda.so"));
    EXPECT_THAT(loaded.error().fix, HasSubstr("setup.sh --cuda"));
#ifdef TROUPE_NEEDS_CUDA
    FAIL() << to_string(loaded.error());
#endif
    GTEST_SKIP() << "no CUDA part of LibTorch on this machine: " << to_string(loaded.error());
  }
  EXPECT_TRUE(c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA));
  EXPECT_TRUE(load_torch_cuda()) << "a second call has the same answer";
}

TEST(cuda_kernels, without_a_gpu_refuse_a_tensor_in_words) {
  if (!load_torch_cuda()) GTEST_SKIP() << "no CUDA part of LibTorch on this machine";
  if (has_gpu()) GTEST_SKIP() << "this machine has a GPU";
  try {
    static_cast<void>(at::empty({2}, at::TensorOptions().device(first_gpu)));
    FAIL() << "a tensor was made without a GPU";
  } catch (const c10::Error& e) {
    EXPECT_THAT(e.what(), AnyOf(HasSubstr("no NVIDIA driver"), HasSubstr("No CUDA GPUs")));
  }
}

TEST(cuda_kernels, multiply_whole_numbers_as_the_cpu_does) {
  if (!load_torch_cuda()) GTEST_SKIP() << "no CUDA part of LibTorch on this machine";
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  const at::Tensor numbers = at::arange(12, at::kFloat).reshape({3, 4});
  const at::Tensor there = numbers.to(first_gpu);
  EXPECT_TRUE(at::equal(at::mm(numbers, numbers.t()), at::mm(there, there.t()).cpu()));
}

}  // namespace
}  // namespace troupe
