// Goal: the edge stands on the real library where there is no GPU: what it cannot do is an error with NCCL's own words,
// at once. Method: libnccl.so.2, if it is there, in the place of the stand-in; the device stays one.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "nccl_test_support.hpp"
#include "runtime/edge/nccl/nccl_lane.hpp"

namespace troupe::testing {
namespace {

template <class Function>
bool find_symbol(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

/// Never closed: NCCL leaves threads behind.
std::optional<nccl::functions> real_library() {
  void* library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen("/usr/local/cuda-13.0/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  nccl::functions made;
  if (library == nullptr) return std::nullopt;
  const bool has_all = find_symbol(library, "ncclGetVersion", made.get_version) &&
                       find_symbol(library, "ncclGetUniqueId", made.get_unique_id) &&
                       find_symbol(library, "ncclCommInitRankConfig", made.comm_init_rank_config) &&
                       find_symbol(library, "ncclCommAbort", made.comm_abort) &&
                       find_symbol(library, "ncclCommGetAsyncError", made.comm_get_async_error) &&
                       find_symbol(library, "ncclGetErrorString", made.get_error_string) &&
                       find_symbol(library, "ncclGetLastError", made.get_last_error);
  return has_all ? std::optional(made) : std::nullopt;
}

bool has_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0;
}

TEST(nccl_real_library, has_a_version_and_unique_ids_and_says_why_it_joins_nothing) {
  const auto library = real_library();
  if (!library) GTEST_SKIP() << "there is no libnccl.so.2";
  if (has_gpu()) GTEST_SKIP() << "there is a GPU";
  int version = 0;
  EXPECT_EQ(library->get_version(&version), nccl::result::success);
  EXPECT_GE(version, 22800) << "as nccl::config has it";
  nccl::unique_id one{};
  nccl::unique_id other{};
  ASSERT_EQ(library->get_unique_id(&one), nccl::result::success);
  ASSERT_EQ(library->get_unique_id(&other), nccl::result::success);
  EXPECT_NE(one.bytes, other.bytes);

  nccl_tools tools = stand_in_tools(std::make_shared<const number_codec>());
  tools.library = *library;
  const auto made = nccl::lane::begin(std::make_shared<const nccl_tools>(std::move(tools)), one, nccl::rank::producer,
                                      nccl::lane::clock::now());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::peer_lost);
  EXPECT_THAT(made.error().cause, ::testing::StartsWith("the making of its communicator: unhandled cuda error"));
  EXPECT_THAT(made.error().cause, ::testing::HasSubstr("driver version is insufficient")) << "the reason itself";
}

}  // namespace
}  // namespace troupe::testing
