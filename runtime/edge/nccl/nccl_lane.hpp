#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/edge/nccl/nccl_reaper.hpp"
#include "runtime/edge/nccl/nccl_tools.hpp"

namespace troupe::nccl {

/// As NCCL numbers the two ends.
enum class rank : int { producer = 0, consumer = 1 };

/// The communicator of one edge, its stream, and its operations under way. Nothing waits: poll() moves things on, and
/// says what went wrong or took too long (E0708); then only retire() is left. Operations are done in the order given,
/// one group each. Threads: that of the device.
class lane {
 public:
  using clock = std::chrono::steady_clock;

  /// Begins to join the peer; then one byte goes from the producer to the consumer, so that what NCCL prepares at the
  /// first operation is there before the first message.
  [[nodiscard]] static expected<std::unique_ptr<lane>> begin(const std::shared_ptr<const nccl_tools>& tools,
                                                             const unique_id& id, rank which, clock::time_point now);
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  /// True if something has moved.
  [[nodiscard]] expected<bool> poll(clock::time_point now);
  /// Joined and warm.
  [[nodiscard]] bool is_open() const noexcept { return is_warm_; }
  /// `name` is for errors.
  void send(std::span<const device_extent> extents, std::span<const std::byte* const> places,
            std::shared_ptr<const void> owner, std::string name);
  void receive(std::span<const device_extent> extents, std::span<std::byte* const> places,
               std::shared_ptr<const void> owner, std::string name);
  /// Operations that are done, the warm-up not among them.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }
  [[nodiscard]] bool is_idle() const noexcept { return waiting_.empty(); }

  /// Gives away what must be ended. The lane is of no use then.
  [[nodiscard]] retired_communicator retire(bool is_clean);

 private:
  struct part {
    std::byte* place;
    device_extent extent;
  };
  struct operation {
    bool is_send = false;
    std::vector<part> parts;
    std::shared_ptr<const void> owner;
    std::string name;
    std::optional<clock::time_point> limit = std::nullopt;
    std::shared_ptr<context_event> passed = nullptr;
  };

  lane(std::shared_ptr<const nccl_tools> tools, rank which) : tools_(std::move(tools)), which_(which) {}
  void warm_up(std::shared_ptr<std::byte> byte);
  [[nodiscard]] expected<bool> join(clock::time_point now);
  /// What NCCL is doing in the background with the last call.
  [[nodiscard]] expected<bool> is_settled(const std::string& name);
  [[nodiscard]] expected<bool> issue(clock::time_point now);
  [[nodiscard]] result call(const operation& next);
  [[nodiscard]] expected<bool> complete(clock::time_point now);
  void add(bool is_send, std::vector<part> parts, std::shared_ptr<const void> owner, std::string name);
  [[nodiscard]] expected<void> in_time(const operation& each, clock::time_point now) const;

  const std::shared_ptr<const nccl_tools> tools_;
  const rank which_;
  std::unique_ptr<context_stream> stream_;
  communicator handle_ = nullptr;
  clock::time_point join_limit_;
  bool is_joined_ = false;
  bool is_warm_ = false;
  /// The call that NCCL has not finished with yet is that of waiting_[issued_].
  bool is_calling_ = false;
  /// Operations in waiting_ whose call has been made and settled.
  std::size_t issued_ = 0;
  std::deque<operation> waiting_;
  std::uint64_t done_ = 0;
};

}  // namespace troupe::nccl
