#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "runtime/device/device_context.hpp"

namespace troupe {
namespace {

class passed_event final : public context_event {
 public:
  [[nodiscard]] expected<bool> has_passed() override { return true; }
};

class immediate_stream final : public context_stream {
 public:
  [[nodiscard]] expected<void> copy(std::byte* into, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memmove(into, from, bytes);
    return {};
  }
  [[nodiscard]] expected<std::shared_ptr<context_event>> record() override { return std::make_shared<passed_event>(); }
  [[nodiscard]] expected<void> wait_for(const context_event&) override { return {}; }
  [[nodiscard]] cuda_stream handle() noexcept override { return nullptr; }
};

class immediate_context final : public device_context {
 public:
  [[nodiscard]] expected<void> enter_thread() override { return {}; }
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate(std::size_t bytes) override {
    constexpr std::size_t step = limits::payload_alignment;
    // beyond that no allocator has any, and a sanitizer ends the process that asks
    void* made = bytes < PTRDIFF_MAX - step ? std::aligned_alloc(step, (bytes / step + 1) * step) : nullptr;
    if (made != nullptr) return std::shared_ptr<std::byte>(static_cast<std::byte*>(made), &std::free);
    return fail(error_code::device_failed, "cpu", fmt::format("out of memory: {} bytes were asked for", bytes),
                "Use smaller micro-batches, or fewer of them on their way");
  }
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate_host(std::size_t bytes) override {
    return allocate(bytes);
  }
  [[nodiscard]] expected<std::unique_ptr<context_stream>> make_stream() override {
    return std::make_unique<immediate_stream>();
  }
};

}  // namespace

expected<std::shared_ptr<device_sharing>> device_context::sharing() {
  return fail(error_code::device_unavailable, "cuda_ipc", "this device shares nothing with other processes",
              "Use --transport shm");
}

std::unique_ptr<device_context> cpu_context() {
  return std::make_unique<immediate_context>();
}

}  // namespace troupe
