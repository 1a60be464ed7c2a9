// Goal: what a CUDA device shares with other processes is what the driver was asked for, is checked, and is given back.
// Method: the stand-in for the driver opens its own handles, which the real one refuses within one process.
#include "runtime/device/device_sharing.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "runtime/device/cuda_context.hpp"
#include "runtime/device/cuda_sharing.hpp"
#include "testing/late_driver.hpp"

namespace troupe {
namespace {

constexpr std::size_t device_bytes = 64u << 20;

cuda_driver driver_of(const driver_functions& functions) {
  return get(cuda_driver::of(functions, "stand-in"));
}

class driver_sharing_test : public ::testing::Test {
 protected:
  std::shared_ptr<device_context> device = get(cuda_context_of(driver_of(testing::late_driver(device_bytes)), 0));
  std::shared_ptr<device_sharing> sharing = get(device->sharing());
};

TEST_F(driver_sharing_test, memory_is_whole_pages_and_opened_with_its_size) {
  const auto made = get(sharing->allocate(limits::ipc_block_unit + 1));
  EXPECT_EQ(made.bytes, 2 * limits::ipc_block_unit);
  const auto opened = get(sharing->open_memory(made.handle));
  EXPECT_EQ(opened.memory.get(), made.memory.get());
  EXPECT_EQ(opened.bytes, made.bytes) << "as the driver says";
}

TEST_F(driver_sharing_test, what_another_allocated_is_found_and_opened_whole) {
  const auto made = get(device->allocate(2 * limits::ipc_block_unit));
  const auto all = get(sharing->allocation_of(made.get() + limits::ipc_block_unit));
  EXPECT_EQ(all.base, made.get());
  EXPECT_EQ(all.bytes, 2 * limits::ipc_block_unit);
  EXPECT_EQ(get(sharing->open_memory(get(sharing->share(all.base)))).memory.get(), made.get());
}

TEST_F(driver_sharing_test, what_is_no_whole_pages_is_not_shared) {
  const auto made = get(device->allocate(limits::ipc_block_unit + 512));
  const auto refused = sharing->share(made.get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::device_failed);
  EXPECT_EQ(refused.error().cause, "an allocation of 2097664 bytes is no whole pages of the device");
  EXPECT_FALSE(sharing->allocation_of(made.get() + limits::ipc_block_unit + 512)) << "behind its end";
}

TEST_F(driver_sharing_test, an_opened_event_passes_with_the_record_of_its_maker) {
  const auto made = get(sharing->make_event());
  const auto opened = get(sharing->open_event(made->handle()));
  EXPECT_TRUE(get(opened->has_passed())) << "never recorded";
  const auto stream = get(device->make_stream());
  const auto other = get(device->make_stream());
  get(made->record_on(*stream));
  EXPECT_FALSE(get(opened->has_passed()));
  get(other->wait_for(*opened));
  const auto behind = get(other->record());
  testing::run_late_work();
  EXPECT_TRUE(get(opened->has_passed()));
  EXPECT_TRUE(get(behind->has_passed()));
}

TEST_F(driver_sharing_test, gives_everything_back) {
  auto made = get(sharing->allocate(1));
  auto opened = get(sharing->open_memory(made.handle));
  auto event = get(sharing->make_event());
  auto other = get(sharing->open_event(event->handle()));
  device.reset();
  sharing.reset();
  EXPECT_EQ(testing::late_driver_handles(), 5u) << "with the context";
  opened = {};
  made = {};
  other.reset();
  event.reset();
  EXPECT_EQ(testing::late_driver_handles(), 0u);
}

TEST_F(driver_sharing_test, a_handle_that_opens_nothing_is_an_error_in_the_drivers_words) {
  const auto memory = sharing->open_memory({});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, error_code::device_failed);
  EXPECT_EQ(memory.error().cause, "cuIpcOpenMemHandle: another error");
  const auto event = sharing->open_event({});
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().cause, "cuIpcOpenEventHandle: another error");
}

TEST_F(driver_sharing_test, more_than_there_is_names_bytes_asked_and_free) {
  const auto refused = sharing->allocate(device_bytes + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::device_failed);
  EXPECT_THAT(refused.error().cause, ::testing::HasSubstr("out of memory; 69206016 bytes were asked for"));
}

TEST(device_sharing, a_driver_without_its_functions_shares_nothing) {
  driver_functions old = testing::late_driver(1000);
  old.ipc_open_mem_handle = nullptr;
  const auto device = get(cuda_context_of(driver_of(old), 0));
  const auto sharing = device->sharing();
  ASSERT_FALSE(sharing);
  EXPECT_EQ(sharing.error().code, error_code::library_unusable);
  EXPECT_THAT(sharing.error().cause, ::testing::HasSubstr("cuIpc"));
  EXPECT_FALSE(get(reach_each_other(driver_of(old), 0, 1)));
}

TEST(device_sharing, two_devices_reach_each_other_if_each_reaches_the_other) {
  driver_functions functions = testing::late_driver(1000);
  functions.device_get = [](int* device, int ordinal) { return *device = ordinal, cuda_result::success; };
  EXPECT_TRUE(get(reach_each_other(driver_of(functions), 0, 1)));
  functions.device_can_access_peer = [](int* can, int device, int) {
    return *can = device == 0 ? 1 : 0, cuda_result::success;
  };
  EXPECT_FALSE(get(reach_each_other(driver_of(functions), 0, 1)));
  EXPECT_FALSE(get(reach_each_other(driver_of(functions), 1, 0)));
  EXPECT_TRUE(get(reach_each_other(driver_of(functions), 1, 1)));
  functions.device_can_access_peer = [](int*, int, int) { return static_cast<cuda_result>(101); };
  const auto failed = reach_each_other(driver_of(functions), 0, 1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::device_failed);
}

}  // namespace
}  // namespace troupe
