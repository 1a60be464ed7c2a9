// Goal: LibTorch's kernels for CUDA are loaded into a program that was built without them, and results on the CPU stay
// as they are. Where they are not installed the cause names the file and the way out.
#include <ATen/Functions.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include "runtime/tensor/cuda_graphs.hpp"
#include "runtime/tensor/torch_cuda.hpp"
#include "runtime/tensor/torch_stream.hpp"

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

TEST(cuda_kernels, are_recorded_by_functions_that_this_version_has) {
  if (!load_torch_cuda()) GTEST_SKIP() << "no CUDA part of LibTorch on this machine";
  const auto found = cuda_graph_functions::of(torch_cuda_path());
  EXPECT_TRUE(found) << to_string(found.error());
  EXPECT_NE(found->make_pool(), found->make_pool());
}

TEST(cuda_kernels, without_a_gpu_are_not_recorded) {
  if (!load_torch_cuda()) GTEST_SKIP() << "no CUDA part of LibTorch on this machine";
  if (has_gpu()) GTEST_SKIP() << "this machine has a GPU";
  const auto recorder = cuda_graph_recorder();
  ASSERT_TRUE(recorder) << to_string(recorder.error());
  const auto recorded = (*recorder)->record([] { FAIL() << "there is nothing to record on"; });
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().code, error_code::device_failed);
  EXPECT_THAT(recorded.error().cause, AnyOf(HasSubstr("driver"), HasSubstr("No CUDA GPUs")));
}

TEST(cuda_kernels, are_repeated_as_a_graph) {
  if (!load_torch_cuda()) GTEST_SKIP() << "no CUDA part of LibTorch on this machine";
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  const auto stream = torch_stream::make(first_gpu);
  ASSERT_TRUE(stream) << to_string(stream.error());
  const c10::StreamGuard here(stream->get());
  const at::Tensor read = at::ones({3, 4}, at::TensorOptions().device(first_gpu));
  at::Tensor written = at::mm(read, read.t());
  const auto recorder = cuda_graph_recorder();
  ASSERT_TRUE(recorder) << to_string(recorder.error());
  const auto waiting = (*recorder)->record([&] { static_cast<void>(read.sum().item()); });
  EXPECT_FALSE(waiting) << "a host waited within a recording";
  const auto recorded = (*recorder)->record([&] { written = at::mm(read, read.t()) + 1; });
  ASSERT_TRUE(recorded) << to_string(recorded.error());
  for (const double factor : {2.0, 3.0}) {
    read.fill_(factor);
    ASSERT_TRUE((*recorded)->launch());
    EXPECT_TRUE(at::equal(written.cpu(), at::full({3, 3}, 4 * factor * factor + 1)));
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
