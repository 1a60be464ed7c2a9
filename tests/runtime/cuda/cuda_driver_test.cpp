// Goal: the CUDA driver is loaded where there is one, and every way to lack it is a clear value. The driver's answers
// come from a stand-in, since most machines that run this have none.
#include "runtime/cuda/cuda_driver.hpp"

#include <cstring>
#include <string>

#include <gmock/gmock.h>

#include "tests/runtime/cuda/bad_library.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A driver of two devices.
driver_functions two_devices() {
  driver_functions made;
  made.init = [](unsigned int) { return cuda_result::success; };
  made.driver_get_version = [](int* version) {
    *version = 13000;
    return cuda_result::success;
  };
  made.get_error_string = [](cuda_result result, const char** text) {
    *text = result == cuda_result::out_of_memory ? "out of memory" : nullptr;
    return cuda_result::success;
  };
  made.device_get_count = [](int* count) {
    *count = 2;
    return cuda_result::success;
  };
  made.device_get = [](int* device, int ordinal) {
    *device = 40 + ordinal;
    return cuda_result::success;
  };
  made.device_get_name = [](char* name, int, int device) {
    std::strcpy(name, device == 40 ? "first" : "second");
    return cuda_result::success;
  };
  made.device_total_mem = [](std::size_t* bytes, int device) {
    *bytes = device == 40 ? 1000 : 2000;
    return cuda_result::success;
  };
  return made;
}

TEST(cuda_driver, lists_devices_by_ordinal) {
  const auto driver = cuda_driver::of(two_devices(), "stand-in");
  ASSERT_TRUE(driver) << driver.error().cause;
  EXPECT_EQ(driver->version_text(), "13.0");
  EXPECT_THAT(driver->devices(), ElementsAre(cuda_device_info{0, "first", 1000}, cuda_device_info{1, "second", 2000}));
}

TEST(cuda_driver, that_finds_no_device_is_an_empty_list) {
  driver_functions functions = two_devices();
  functions.init = [](unsigned int) { return cuda_result::no_device; };
  const auto driver = cuda_driver::of(functions, "stand-in");
  ASSERT_TRUE(driver) << driver.error().cause;
  EXPECT_THAT(driver->devices(), IsEmpty());
}

TEST(cuda_driver, that_does_not_start_is_an_error_in_its_words) {
  driver_functions functions = two_devices();
  functions.init = [](unsigned int) { return cuda_result::out_of_memory; };
  const auto driver = cuda_driver::of(functions, "stand-in");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, error_code::device_failed);
  EXPECT_EQ(driver.error().where, "stand-in");
  EXPECT_EQ(driver.error().cause, "cuInit: out of memory");
}

TEST(cuda_driver, whose_device_fails_is_an_error_that_names_it) {
  driver_functions functions = two_devices();
  functions.device_total_mem = [](std::size_t*, int device) {
    return device == 40 ? cuda_result::success : static_cast<cuda_result>(101);
  };
  const auto driver = cuda_driver::of(functions, "stand-in");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().where, "cuda:1");
  EXPECT_EQ(driver.error().cause, "cuDeviceTotalMem: error 101");
}

TEST(cuda_driver, of_this_machine_starts_or_says_why_not) {
  const auto driver = cuda_driver::load();
  if (!driver) GTEST_SKIP() << "no CUDA driver on this machine: " << to_string(driver.error());
  EXPECT_THAT(driver->version_text(), HasSubstr("."));
  for (const cuda_device_info& each : driver->devices()) EXPECT_GT(each.memory_bytes, 0u) << each.name;
}

TEST(cuda_driver, that_is_missing_or_no_library_or_another_library_is_an_error) {
  const testing::file_that_is_no_library file;
  for (const std::string& name : {std::string("libcuda_of_nowhere.so.1"), file.path(), std::string("libm.so.6")}) {
    const auto driver = cuda_driver::load(name);
    ASSERT_FALSE(driver) << name;
    EXPECT_EQ(driver.error().code, error_code::library_unusable);
    EXPECT_EQ(driver.error().where, name);
    EXPECT_FALSE(cuda_runtime_version(name)) << name;
  }
}

TEST(cuda_runtime, tells_its_version_without_a_driver) {
  const auto version = cuda_runtime_version();
  if (!version) GTEST_SKIP() << "no CUDA runtime on this machine: " << to_string(version.error());
  EXPECT_THAT(*version, HasSubstr("13."));
}

}  // namespace
}  // namespace troupe
