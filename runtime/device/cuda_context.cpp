#include "runtime/device/cuda_context.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

/// The primary context of a device, as long as anything of it is in use.
struct held_device {
  held_device(cuda_driver of, int number) : driver(std::move(of)), ordinal(number) {}
  ~held_device() {
    if (context != nullptr) static_cast<void>(driver.functions().primary_context_release(device));
  }
  held_device(const held_device&) = delete;
  held_device& operator=(const held_device&) = delete;

  [[nodiscard]] const driver_functions& call() const { return driver.functions(); }
  [[nodiscard]] expected<void> done(cuda_result result, const char* function) const {
    if (result == cuda_result::success) return {};
    return tl::make_unexpected(driver.describe(result, function, fmt::format("cuda:{}", ordinal)));
  }
  /// A destructor may run on a thread that has not entered, and has nowhere to report to.
  void enter() const { static_cast<void>(call().context_set_current(context)); }

  cuda_driver driver;
  int ordinal;
  int device = 0;
  cuda_context context = nullptr;
};
using device_ptr = std::shared_ptr<const held_device>;

class driver_event final : public context_event {
 public:
  driver_event(device_ptr device, cuda_event event) : device_(std::move(device)), event_(event) {}
  ~driver_event() override {
    device_->enter();
    static_cast<void>(device_->call().event_destroy(event_));
  }
  [[nodiscard]] expected<bool> has_passed() override {
    const cuda_result result = device_->call().event_query(event_);
    if (result == cuda_result::not_ready) return false;
    return device_->done(result, "cuEventQuery").map([] { return true; });
  }
  [[nodiscard]] cuda_event handle() const noexcept { return event_; }

 private:
  device_ptr device_;
  cuda_event event_;
};

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
    const auto* of_driver = dynamic_cast<const driver_event*>(&event);
    TROUPE_CHECK(of_driver != nullptr, "a stream waits for events of its own kind of device");
    return device_->done(device_->call().stream_wait_event(stream_, of_driver->handle(), 0), "cuStreamWaitEvent");
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
    cuda_address made = 0;
    const cuda_result result = device_->call().mem_alloc(&made, bytes == 0 ? 1 : bytes);
    if (result != cuda_result::success) return refused(result, "cuMemAlloc", bytes);
    return std::shared_ptr<std::byte>(std::bit_cast<std::byte*>(std::uintptr_t{made}), [held = device_, made](auto*) {
      held->enter();
      static_cast<void>(held->call().mem_free(made));
    });
  }
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate_host(std::size_t bytes) override {
    void* made = nullptr;
    const cuda_result result = device_->call().mem_host_alloc(&made, bytes == 0 ? 1 : bytes, 0);
    if (result != cuda_result::success) return refused(result, "cuMemHostAlloc", bytes);
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

 private:
  [[nodiscard]] tl::unexpected<error> refused(cuda_result result, const char* function, std::size_t bytes) const {
    error why = device_->driver.describe(result, function, fmt::format("cuda:{}", device_->ordinal));
    std::size_t free = 0;
    std::size_t total = 0;
    const bool known = device_->call().mem_get_info(&free, &total) == cuda_result::success;
    why.cause += fmt::format("; {} bytes were asked for", bytes);
    if (known) why.cause += fmt::format(", {} of {} are free", free, total);
    if (result == cuda_result::out_of_memory)
      why.fix = "Use smaller micro-batches, more stages, or fewer on one device";
    return tl::make_unexpected(std::move(why));
  }

  device_ptr device_;
};

}  // namespace

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
