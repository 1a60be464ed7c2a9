// Goal: NCCL is loaded where it is installed, and its absence, a wrong file and a wrong library are clear values.
#include "runtime/cuda/nccl_library.hpp"

#include <string>

#include <gmock/gmock.h>

#include "tests/runtime/cuda/bad_library.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(nccl_library, that_is_installed_tells_its_version_and_makes_ids) {
  const auto nccl = nccl_library::load();
  if (!nccl) GTEST_SKIP() << "no NCCL on this machine: " << to_string(nccl.error());
  EXPECT_GE(nccl->version(), 20000);
  EXPECT_THAT(nccl->version_text(), HasSubstr("2."));
  nccl::unique_id first{};
  nccl::unique_id second{};
  EXPECT_EQ(nccl->functions().get_unique_id(&first), nccl::result::success);
  EXPECT_EQ(nccl->functions().get_unique_id(&second), nccl::result::success);
  EXPECT_NE(first.bytes, second.bytes);
}

TEST(nccl_library, that_is_installed_refuses_what_is_no_communicator) {
  const auto nccl = nccl_library::load();
  if (!nccl) GTEST_SKIP() << "no NCCL on this machine: " << to_string(nccl.error());
  nccl::result state = nccl::result::success;
  const nccl::result result = nccl->functions().comm_get_async_error(nullptr, &state);
  EXPECT_EQ(result, nccl::result::invalid_argument);
}

TEST(nccl_library, that_is_missing_is_an_error_with_its_name) {
  const auto nccl = nccl_library::load("libnccl_of_nowhere.so.2");
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().code, error_code::library_unusable);
  EXPECT_EQ(nccl.error().where, "libnccl_of_nowhere.so.2");
  EXPECT_THAT(nccl.error().cause, HasSubstr("No such file"));
  EXPECT_FALSE(nccl.error().fix.empty());
}

TEST(nccl_library, that_is_a_text_file_is_an_error) {
  const testing::file_that_is_no_library file;
  const auto nccl = nccl_library::load(file.path());
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().code, error_code::library_unusable);
  EXPECT_THAT(nccl.error().cause, HasSubstr("ELF"));
}

TEST(nccl_library, without_its_functions_is_an_error_that_names_the_first) {
  const auto nccl = nccl_library::load("libm.so.6");
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().code, error_code::library_unusable);
  EXPECT_EQ(nccl.error().cause, "it has no function ncclGetVersion");
}

TEST(nccl_library, of_functions_needs_all_that_are_not_optional) {
  const auto nccl = nccl_library::of({}, "stand-in");
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().where, "stand-in");
  EXPECT_EQ(nccl.error().code, error_code::library_unusable);
}

}  // namespace
}  // namespace troupe
