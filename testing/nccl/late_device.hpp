#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/device_context.hpp"
#include "runtime/edge/nccl/device_codec.hpp"
#include "runtime/edge/payload_codec.hpp"

namespace troupe::testing {

/// Work of a stream, done late: by a thread of its own, one after another. Threads: any.
class late_work : public std::enable_shared_from_this<late_work> {
 public:
  /// What a stand-in makes of a stream's handle.
  [[nodiscard]] static late_work& of(nccl::stream handle) { return *reinterpret_cast<late_work*>(handle); }
  [[nodiscard]] nccl::stream handle() { return reinterpret_cast<nccl::stream>(this); }

  [[nodiscard]] static std::shared_ptr<late_work> start(bool is_held = false);
  void enqueue(std::function<void()> what);
  /// What has not begun is dropped.
  void stop();
  /// Nothing begins while it is held.
  void hold(bool is_held);
  [[nodiscard]] bool is_idle();

 private:
  void run();

  std::mutex guard_;
  std::condition_variable news_;
  std::deque<std::function<void()>> queue_;
  bool is_stopped_ = false;
  bool is_held_ = false;
  bool is_working_ = false;
};

/// What a stream of a late device does in wait_for(), on its thread.
class late_waitable {
 public:
  late_waitable() = default;
  late_waitable(const late_waitable&) = delete;
  late_waitable& operator=(const late_waitable&) = delete;
  virtual ~late_waitable() = default;
  [[nodiscard]] virtual std::function<void()> waiting() const = 0;
};

/// A device whose memory is that of the host and holds nonsense when it is new, and whose streams are late: memory used
/// before its event has passed has wrong bits.
class late_device final : public device_context {
 public:
  [[nodiscard]] expected<void> enter_thread() override { return {}; }
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate(std::size_t bytes) override;
  [[nodiscard]] expected<std::shared_ptr<std::byte>> allocate_host(std::size_t bytes) override {
    return allocate(bytes);
  }
  [[nodiscard]] expected<std::unique_ptr<context_stream>> make_stream() override;
  [[nodiscard]] expected<std::shared_ptr<device_sharing>> sharing() override;

  /// Bytes that were asked for so far.
  [[nodiscard]] std::uint64_t allocated() const { return allocated_.load(); }
  /// No stream begins with anything while it is held.
  void hold(bool is_held);
  /// All that streams were given is done.
  [[nodiscard]] bool is_idle();

 private:
  std::mutex guard_;
  std::vector<std::weak_ptr<late_work>> streams_;
  bool is_held_ = false;
  std::atomic<std::uint64_t> allocated_{0};
};

/// Payloads of a codec for such a device: a copy of their bytes, in one or two extents.
class late_device_codec final : public device_codec {
 public:
  explicit late_device_codec(std::shared_ptr<const payload_codec> bytes) : bytes_(std::move(bytes)) {}
  void check(const payload& value) const override { static_cast<void>(bytes_->size_of(value)); }
  [[nodiscard]] device_parts split(const payload_ptr& value) const override;
  [[nodiscard]] expected<void> matches(std::span<const std::byte> description,
                                       std::span<const device_extent> extents) const override;
  [[nodiscard]] expected<payload_ptr> join(std::span<const std::byte> description,
                                           std::span<const device_extent> extents, std::span<std::byte* const> places,
                                           std::shared_ptr<const void> owner) const override;

 private:
  const std::shared_ptr<const payload_codec> bytes_;
};

}  // namespace troupe::testing
