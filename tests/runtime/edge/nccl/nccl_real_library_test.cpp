// Goal: the edge stands on the real library where there is no GPU: what it cannot do is an error with NCCL's own words,
// at once. Method: libnccl.so.2, if it is there, in the place of the stand-in's functions.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "nccl_test_support.hpp"
#include "runtime/cuda/nccl_library.hpp"
#include "runtime/edge/nccl/nccl_lane.hpp"

namespace troupe::testing {
namespace {

bool has_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0;
}

TEST(nccl_real_library, has_a_version_and_unique_ids_and_says_why_it_joins_nothing) {
  const auto library = nccl_library::load();
  if (!library) GTEST_SKIP() << to_string(library.error());
  if (has_gpu()) GTEST_SKIP() << "there is a GPU";
  EXPECT_GE(library->version(), 22700);
  nccl::unique_id one{};
  nccl::unique_id other{};
  ASSERT_EQ(library->functions().get_unique_id(&one), nccl::result::success);
  ASSERT_EQ(library->functions().get_unique_id(&other), nccl::result::success);
  EXPECT_FALSE(std::ranges::equal(one.bytes, other.bytes));

  nccl_tools tools = stand_in_tools(std::make_shared<const number_codec>());
  tools.library = library->functions();
  const auto made = nccl::lane::begin(std::make_shared<const nccl_tools>(std::move(tools)), one, nccl::rank::producer,
                                      nccl::lane::clock::now());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::peer_lost);
  EXPECT_THAT(made.error().cause, ::testing::StartsWith("the making of its communicator: unhandled cuda error"));
  EXPECT_THAT(made.error().cause, ::testing::HasSubstr("driver version is insufficient")) << "the reason itself";
}

}  // namespace
}  // namespace troupe::testing
