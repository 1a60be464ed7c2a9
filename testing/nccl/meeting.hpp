#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "runtime/cuda/nccl_functions.hpp"
#include "runtime/edge/doorbell.hpp"

namespace troupe::testing {

/// What one rank has posted in one direction: its operations so far, and the newest.
struct posted {
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> count{0};
  std::atomic<int> type{0};
};

/// From rank r to the other one.
struct direction {
  posted sender;
  posted receiver;
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> read{0};
  std::array<std::byte, 16384> ring{};
};

/// Shared memory of a communicator; zero to begin with.
struct meeting_words {
  std::array<doorbell_words, 2> bells;
  std::array<std::atomic<std::uint32_t>, 2> joined{};
  /// A nccl::result of both.
  std::atomic<int> error{0};
  std::array<direction, 2> directions;
};

/// A rank's view of a communicator. Threads: one does operations; any.
class meeting {
 public:
  /// Null if the system refuses.
  [[nodiscard]] static std::shared_ptr<meeting> open(const nccl::unique_id& id, int rank);
  meeting(meeting_words& words, const nccl::unique_id& id, int rank);
  ~meeting();
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;

  [[nodiscard]] bool is_complete() const;
  void fail(nccl::result how);
  [[nodiscard]] nccl::result error() const { return static_cast<nccl::result>(words_.error.load()); }
  /// Operations under way end without having done their work.
  void cut();
  /// Returns when it is done or cut.
  void send(std::span<const std::byte> bytes, std::uint64_t count, nccl::element type);
  void receive(std::span<std::byte> bytes, std::uint64_t count, nccl::element type);
  void hang();

  std::uint64_t operations = 0;

 private:
  /// False: cut.
  [[nodiscard]] bool wait(const std::function<bool()>& is_true);
  /// Posts, and waits for the other half. False: it does not match, or cut.
  [[nodiscard]] bool match(posted& mine, const posted& other, const direction& crossing, std::uint64_t count,
                           nccl::element type, bool is_send);
  void ring_peer();

  meeting_words& words_;
  const nccl::unique_id id_;
  const std::size_t rank_;
  std::array<doorbell, 2> bells_;
  std::atomic<bool> is_cut_{false};
};

}  // namespace troupe::testing
