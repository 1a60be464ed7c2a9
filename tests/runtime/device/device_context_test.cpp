// Goal: a CUDA device keeps the contract of device_context. The driver is a stand-in whose streams are late,
// so that a missing event is found as wrong bits.
#include <cstring>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "runtime/device/cuda_context.hpp"
#include "testing/late_driver.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using testing::run_late_work;

const std::string text = "sixteen letters!";

std::shared_ptr<device_context> late_context(std::size_t memory_bytes = 1000) {
  const auto driver = cuda_driver::of(testing::late_driver(memory_bytes), "stand-in");
  return get(cuda_context_of(get(driver), 0));
}

std::shared_ptr<std::byte> filled_host_memory(device_context& on) {
  auto made = get(on.allocate_host(text.size()));
  std::memcpy(made.get(), text.data(), text.size());
  return made;
}

bool has_text(const std::shared_ptr<std::byte>& memory) {
  return std::memcmp(memory.get(), text.data(), text.size()) == 0;
}

/// Host to device on one stream, device to host on another; with the event between them or without.
bool arrives(device_context& on, bool waits) {
  const auto from = filled_host_memory(on);
  const auto there = get(on.allocate(text.size()));
  const auto back = get(on.allocate_host(text.size()));
  const auto one = get(on.make_stream());
  const auto other = get(on.make_stream());
  // The order in which a stand-in looks at its streams must not be what makes this right.
  for (const auto& [first, second] : {std::pair(one.get(), other.get()), std::pair(other.get(), one.get())}) {
    std::memset(back.get(), 0, text.size());
    std::memset(there.get(), 0, text.size());
    get(first->copy(there.get(), from.get(), text.size()));
    const auto copied = get(first->record());
    if (waits) get(second->wait_for(*copied));
    get(second->copy(back.get(), there.get(), text.size()));
    const auto returned = get(second->record());
    run_late_work();
    if (!get(returned->has_passed()) || !has_text(back)) return false;
  }
  return true;
}

TEST(device_context, of_a_late_device_arrives_by_events_alone) {
  const auto late = late_context();
  EXPECT_TRUE(arrives(*late, true));
  EXPECT_FALSE(arrives(*late, false)) << "the late device does not find a missing event";
}

TEST(device_context, event_passes_when_the_work_before_it_is_done) {
  const auto late = late_context();
  const auto from = filled_host_memory(*late);
  const auto there = get(late->allocate(text.size()));
  const auto stream = get(late->make_stream());
  get(stream->copy(there.get(), from.get(), text.size()));
  const auto event = get(stream->record());
  EXPECT_FALSE(get(event->has_passed()));
  EXPECT_FALSE(has_text(there));
  run_late_work();
  EXPECT_TRUE(get(event->has_passed()));
  EXPECT_TRUE(has_text(there));
}

TEST(device_context, out_of_memory_names_bytes_asked_and_free) {
  const auto late = late_context(1000);
  const auto held = get(late->allocate(400));
  const auto refused = late->allocate(700);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::device_failed);
  EXPECT_EQ(refused.error().where, "cuda:0");
  EXPECT_EQ(refused.error().cause, "cuMemAlloc: out of memory; 700 bytes were asked for, 600 of 1000 are free");
  EXPECT_THAT(refused.error().fix, HasSubstr("smaller micro-batches"));
}

TEST(device_context, gives_everything_back_when_its_last_part_goes) {
  auto late = late_context();
  auto memory = get(late->allocate(10));
  auto host = get(late->allocate_host(10));
  auto stream = get(late->make_stream());
  auto event = get(stream->record());
  late.reset();
  EXPECT_EQ(testing::late_driver_handles(), 5u);
  stream.reset();
  event.reset();
  host.reset();
  memory.reset();
  EXPECT_EQ(testing::late_driver_handles(), 0u);
}

}  // namespace
}  // namespace troupe
