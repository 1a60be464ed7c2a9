#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/edge/cuda_ipc/event_poller.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"
#include "runtime/edge/doorbell.hpp"
#include "runtime/edge/shm/slot_returns.hpp"

/// How the two ends wait for a device without waiting: the poller looks for them.
namespace troupe::ipc {

/// What of a message its reader's device is at. Destroyed from the last to the first: the blocks or allocations,
/// which may be closed then, and the hold on the slot of the announcing edge, which the producer may use then.
struct parts_in_use {
  std::shared_ptr<const void> slot;
  std::vector<std::shared_ptr<std::byte>> memory;
};

/// What payloads that view a slot own. When the last of them goes, on any thread, the slot is viewed no longer, but it
/// comes back only when the stream of the readers has passed this point.
class reading {
 public:
  /// `announced` is the lease of the announcing edge's slot.
  reading(std::shared_ptr<const ipc_tools> tools, std::shared_ptr<event_poller> poller,
          std::shared_ptr<const shm::slot_lease> announced, std::vector<std::shared_ptr<std::byte>> memory)
      : tools_(std::move(tools)),
        poller_(std::move(poller)),
        in_use_{announced->hold_on(), std::move(memory)},
        viewed_(std::move(announced)) {}
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
  ~reading();

 private:
  const std::shared_ptr<const ipc_tools> tools_;
  const std::shared_ptr<event_poller> poller_;
  parts_in_use in_use_;
  const std::shared_ptr<const shm::slot_lease> viewed_;
};

/// The bell of an end's own engine, which no thread rings once the end is gone.
class own_bell {
 public:
  explicit own_bell(doorbell* rung) : rung_(rung) {}
  void ring() {
    const std::scoped_lock lock(guard_);
    if (rung_ != nullptr) rung_->ring();
  }
  /// No bell is rung any more when this has returned.
  void detach() {
    const std::scoped_lock lock(guard_);
    rung_ = nullptr;
  }

 private:
  std::mutex guard_;
  doorbell* rung_;
};

/// Rings when the event has passed or failed, unless the bell is gone by then.
void ring_when_passed(event_poller& poller, std::shared_ptr<context_event> event, std::weak_ptr<own_bell> bell);

}  // namespace troupe::ipc
