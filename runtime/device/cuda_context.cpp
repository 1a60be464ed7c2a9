#include "runtime/device/cuda_context.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "runtime/device/held_device.hpp"

namespace troupe {
namespace {

tl::unexpected<error> refused(const held_device& device, cuda_result result, const char* function, std::size_t bytes) {
  error why = device.driver.describe(result, function, fmt::format("cuda:{}", device.ordinal));
  std::size_t free = 0;
  std::size_t total = 0;
  const bool known = device.call().mem_get_info(&free, &total) == cuda_result::success;
  why.cause += fmt::format("; {} bytes were asked for", bytes);
  if (known) why.cause += fmt::format(", {} of {} are free", free, total);
  if (result == cuda_result::out_of_memory) why.fix = "Use smaller micro-batches, more stages, or fewer on one device";
  return tl::make_unexpected(std::move(why));
}

class driver_stream final : public context_stream {
 public:
  driver_stream(device_ptr device, cuda_stream stream) : device_(std::move(device)), stream_(stream) {}
  ~driver_stream() override {
    device_->enter();
    static_cast<void>(device_->call().stream_destroy(stream_));
  }

  [[nodiscard]] expected<void> copy(std::byte* into, const std::byte* from, std::size_t bytes) override {
    const auto number = [](const std::byte* place) { return static_cast<cuda_address>(std::uintptr_t(place)); };
    if (bytes == 0) return {};
    return device_->done(device_->call().memcpy_async(number(into), number(from), bytes, stream_), "cuMemcpyAsync");
  }
  [[nodiscard]] expected<std::shared_ptr<context_event>> record() override {
    cuda_event event = nullptr;
    auto made = device_->done(device_->call().event_create(&event, cuda_event_without_time), "cuEventCreate");
    if (!made) return tl::make_unexpected(std::move(made.error()));
    auto owner = std::make_shared<driver_event>(device_, event);
    auto recorded = device_->done(device_->call().event_record(event, stream_), "cuEventRecord");
    if (!recorded) return tl::make_unexpected(std::move(recorded.error()));
    return owner;
  }
  [[nodiscard]] expected<void> wait_for(const context_event& event) override {
    const auto* of_driver = dynamic_cast<const has_driver_event*>(&event);
    TROUPE_CHECK(of_driver != nullptr, "a stream waits for events of its own kind of device");
    return device_->done(device_->call().stream_wait_event(stream_, of_driver->driver_handle(), 0),
                         "cuStreamWaitEvent");
  }
  [[nodiscard]] cuda_stream handle() noexcept override { return stream_; }

 private:
  device_ptr device_;
  cuda_stream stream_;
};

class driver_context final : public device_context {
 public:
  explicit driver_context(device_ptr device) : device_(std::move(device)) {}

  [[nodiscard]] expected<void> enter_thread() override {
    return device_->done(device_->call().context_set_current(device_->context), "cuCtxSetCurrent");
  }
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate(std::size_t bytes) override {
    return allocate_on(device_, bytes);
  }
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate_host(std::size_t bytes) override {
    void* made = nullptr;
    const cuda_result result = device_->call().mem_host_alloc(&made, bytes == 0 ? 1 : bytes, 0);
    if (result != cuda_result::success) return refused(*device_, result, "cuMemHostAlloc", bytes);
    return std::shared_ptr<std::byte>(static_cast<std::byte*>(made), [held = device_](std::byte* place) {
      held->enter();
      static_cast<void>(held->call().mem_free_host(place));
    });
  }
  [[nodiscard]] expected<std::unique_ptr<context_stream>> make_stream() override {
    cuda_stream stream = nullptr;
    auto made = device_->done(device_->call().stream_create(&stream, cuda_stream_non_blocking), "cuStreamCreate");
    if (!made) return tl::make_unexpected(std::move(made.error()));
    return std::make_unique<driver_stream>(device_, stream);
  }

  [[nodiscard]] expected<std::shared_ptr<device_sharing>> sharing() override { return sharing_of(device_); }

 private:
  device_ptr device_;
};

}  // namespace

expected<std::shared_ptr<std::byte>> allocate_on(const device_ptr& device, std::size_t bytes) {
  cuda_address made = 0;
  const cuda_result result = device->call().mem_alloc(&made, bytes == 0 ? 1 : bytes);
  if (result != cuda_result::success) return refused(*device, result, "cuMemAlloc", bytes);
  return std::shared_ptr<std::byte>(std::bit_cast<std::byte*>(std::uintptr_t{made}), [held = device, made](auto*) {
    held->enter();
    static_cast<void>(held->call().mem_free(made));
  });
}

expected<std::shared_ptr<device_context>> cuda_context_of(const cuda_driver& driver, int ordinal) {
  auto held = std::make_shared<held_device>(driver, ordinal);
  if (auto got = held->done(held->call().device_get(&held->device, ordinal), "cuDeviceGet"); !got) {
    return tl::make_unexpected(std::move(got.error()));
  }
  cuda_context context = nullptr;
  auto retained = held->done(held->call().primary_context_retain(&context, held->device), "cuDevicePrimaryCtxRetain");
  if (!retained) return tl::make_unexpected(std::move(retained.error()));
  held->context = context;
  auto made = std::make_shared<driver_context>(std::move(held));
  if (auto entered = made->enter_thread(); !entered) return tl::make_unexpected(std::move(entered.error()));
  return made;
}

}  // namespace troupe
