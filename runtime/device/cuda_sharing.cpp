#include "runtime/device/cuda_sharing.hpp"

#include <bit>
#include <cstdint>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/device/held_device.hpp"

namespace troupe {
namespace {

class driver_shared_event final : public driver_event_as<shared_event> {
 public:
  using driver_event_as::driver_event_as;
  [[nodiscard]] expected<void> export_it() {
    cuda_event_handle made{};
    const cuda_result result = device().call().ipc_get_event_handle(&made, driver_handle());
    handle_ = std::bit_cast<sharing_handle>(made);
    return device().done(result, "cuIpcGetEventHandle");
  }
  [[nodiscard]] expected<void> record_on(context_stream& stream) override {
    return device().done(device().call().event_record(driver_handle(), stream.handle()), "cuEventRecord");
  }
  [[nodiscard]] const sharing_handle& handle() const noexcept override { return handle_; }

 private:
  sharing_handle handle_{};
};

cuda_address address_of(const std::byte* at) {
  return static_cast<cuda_address>(std::uintptr_t(at));
}

class driver_sharing final : public device_sharing {
 public:
  explicit driver_sharing(device_ptr device) : device_(std::move(device)) {}

  // The driver shares whole pages, with what else is in them; a handle is that of the allocation.
  [[nodiscard]] expected<shared_block> allocate(std::size_t bytes) override {
    constexpr std::uint64_t unit = limits::ipc_block_unit;
    if (bytes > limits::ipc_ring_bytes_max)
      return fail(error_code::device_failed, "cuda_ipc", fmt::format("{} bytes were asked for", bytes));
    shared_block made;
    made.bytes = bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
    made.memory = TROUPE_TRY(allocate_on(device_, made.bytes));
    return share(made.memory.get()).map([&](const sharing_handle& handle) {
      made.handle = handle;
      return std::move(made);
    });
  }

  [[nodiscard]] expected<device_allocation> allocation_of(const std::byte* at) override {
    cuda_address base = 0;
    device_allocation found;
    const cuda_result result = device_->call().mem_get_address_range(&base, &found.bytes, address_of(at));
    return device_->done(result, "cuMemGetAddressRange").map([&] {
      found.base = std::bit_cast<const std::byte*>(std::uintptr_t{base});
      return found;
    });
  }

  [[nodiscard]] expected<sharing_handle> share(const std::byte* base) override {
    const auto all = TROUPE_TRY(allocation_of(base));
    if (all.bytes % limits::ipc_block_unit != 0) {
      return fail(error_code::device_failed, "cuda_ipc",
                  fmt::format("an allocation of {} bytes is no whole pages of the device", all.bytes));
    }
    cuda_memory_handle handle{};
    const cuda_result result = device_->call().ipc_get_mem_handle(&handle, address_of(base));
    return device_->done(result, "cuIpcGetMemHandle").map([&] { return std::bit_cast<sharing_handle>(handle); });
  }

  [[nodiscard]] expected<std::unique_ptr<shared_event>> make_event() override {
    cuda_event event = nullptr;
    constexpr unsigned int flags = cuda_event_interprocess | cuda_event_without_time;
    TROUPE_TRY(device_->done(device_->call().event_create(&event, flags), "cuEventCreate"));
    auto owner = std::make_unique<driver_shared_event>(device_, event);
    TROUPE_TRY(owner->export_it());
    return owner;
  }

  [[nodiscard]] expected<shared_block> open_memory(const sharing_handle& handle) override {
    cuda_address address = 0;
    const auto given = std::bit_cast<cuda_memory_handle>(handle);
    const cuda_result result = device_->call().ipc_open_mem_handle(&address, given, cuda_ipc_with_peer_access);
    if (auto opened = device_->done(result, "cuIpcOpenMemHandle"); !opened) {
      return tl::make_unexpected(std::move(opened).error());
    }
    shared_block made;
    made.handle = handle;
    made.memory = {std::bit_cast<std::byte*>(std::uintptr_t{address}), [held = device_, address](auto*) {
                     held->enter();
                     static_cast<void>(held->call().ipc_close_mem_handle(address));
                   }};
    return allocation_of(made.memory.get()).map([&](const device_allocation& all) {
      made.bytes = static_cast<std::uint64_t>(all.base + all.bytes - made.memory.get());
      return std::move(made);
    });
  }

  [[nodiscard]] expected<std::shared_ptr<context_event>> open_event(const sharing_handle& handle) override {
    cuda_event event = nullptr;
    const cuda_result result = device_->call().ipc_open_event_handle(&event, std::bit_cast<cuda_event_handle>(handle));
    if (auto opened = device_->done(result, "cuIpcOpenEventHandle"); !opened) {
      return tl::make_unexpected(std::move(opened).error());
    }
    return std::make_shared<driver_event>(device_, event);
  }

 private:
  device_ptr device_;
};

}  // namespace

expected<std::shared_ptr<device_sharing>> sharing_of(const device_ptr& device) {
  if (device->call().has_ipc()) return std::make_shared<driver_sharing>(device);
  return fail(error_code::library_unusable, fmt::format("cuda:{}", device->ordinal),
              "the driver has no functions for sharing between processes (cuIpc...)", "Install a newer driver");
}

expected<bool> reach_each_other(const cuda_driver& driver, int one, int other) {
  if (one == other) return true;
  const driver_functions& call = driver.functions();
  if (!call.has_ipc()) return false;
  for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
    int device = 0;
    int peer = 0;
    int can = 0;
    for (const auto& [ordinal, into] : {std::pair(from, &device), std::pair(to, &peer)}) {
      const cuda_result found = call.device_get(into, ordinal);
      if (found != cuda_result::success)
        return tl::make_unexpected(driver.describe(found, "cuDeviceGet", fmt::format("cuda:{}", ordinal)));
    }
    const cuda_result told = call.device_can_access_peer(&can, device, peer);
    if (told != cuda_result::success)
      return tl::make_unexpected(driver.describe(told, "cuDeviceCanAccessPeer", fmt::format("cuda:{}", from)));
    if (can == 0) return false;
  }
  return true;
}

}  // namespace troupe
