#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "messages/agent.hpp"
#include "messages/codec/codec.hpp"
#include "messages/stage_telemetry.hpp"
#include "runtime/link/message_link.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe {

/// The workers of an agent, by rank; what happens to them is told the driver, of each in order: worker_started, what it
/// says, worker_ended. Threads: any.
class agent_workers final : public worker_listener {
 public:
  explicit agent_workers(std::shared_ptr<message_link> driver) : driver_(std::move(driver)) {}

  /// Null for one that is not there (any more).
  [[nodiscard]] hosted_worker_ptr find(std::uint32_t rank) const;
  /// A worker that its host starts; one that has ended since is not known any more.
  void add(const hosted_worker_ptr& worker);
  /// A worker that could not be started.
  void refuse(std::uint32_t rank, const error& cause);
  /// What has changed since the last time.
  void tell_telemetry();
  /// Those that are there.
  [[nodiscard]] std::vector<hosted_worker_ptr> all() const;
  /// Kills all(); their ends are told as any others.
  void kill_all() const;
  /// Waits for the ends of all that were added.
  void wait_for_ends(std::chrono::steady_clock::time_point deadline);
  /// Their host has ended: those of which no end is known are told as ended somehow.
  void forget_all();

  void started(const hosted_worker_ptr& worker) override { announce(worker); }
  void said(const hosted_worker_ptr& worker, codec::bytes message) override;
  void link_lost(const hosted_worker_ptr& worker) override;
  void exited(const hosted_worker_ptr& worker, const exit_report& report) override;

  template <class Message>
  void tell(const Message& message) const;

 private:
  struct entry {
    hosted_worker_ptr worker;
    stage_telemetry told = {};
    /// add() was called, and exited(): in either order. Known until both were.
    bool is_added = false;
    bool has_ended = false;
    bool is_announced = false;
  };
  entry& entry_of(const hosted_worker_ptr& worker);
  void announce(const hosted_worker_ptr& worker);

  const std::shared_ptr<message_link> driver_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, entry> workers_;
};

}  // namespace troupe
