#pragma once

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/device/device_sharing.hpp"

/// What the parts of a device by the driver stand on. Not for users: cuda_context.hpp is the interface.
namespace troupe {

/// The primary context of a device, as long as any part of the device is in use.
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

/// What has an event of the driver, made here or in another process.
class has_driver_event {
 public:
  has_driver_event() = default;
  has_driver_event(const has_driver_event&) = delete;
  has_driver_event& operator=(const has_driver_event&) = delete;
  virtual ~has_driver_event() = default;
  [[nodiscard]] virtual cuda_event driver_handle() const noexcept = 0;
};

/// The driver's event in the shape of `Event`: context_event or shared_event.
template <class Event>
class driver_event_as : public Event, public has_driver_event {
 public:
  driver_event_as(device_ptr device, cuda_event event) : device_(std::move(device)), event_(event) {}
  ~driver_event_as() override {
    device_->enter();
    static_cast<void>(device_->call().event_destroy(event_));
  }
  [[nodiscard]] expected<bool> has_passed() override {
    const cuda_result result = device_->call().event_query(event_);
    if (result == cuda_result::not_ready) return false;
    return device_->done(result, "cuEventQuery").map([] { return true; });
  }
  [[nodiscard]] cuda_event driver_handle() const noexcept override { return event_; }

 protected:
  [[nodiscard]] const held_device& device() const noexcept { return *device_; }

 private:
  device_ptr device_;
  cuda_event event_;
};
using driver_event = driver_event_as<context_event>;

/// Memory of the device. Errors as device_context::allocate().
[[nodiscard]] expected<std::shared_ptr<std::byte>> allocate_on(const device_ptr& device, std::size_t bytes);
/// E0901 for a driver that shares nothing.
[[nodiscard]] expected<std::shared_ptr<device_sharing>> sharing_of(const device_ptr& device);

}  // namespace troupe
