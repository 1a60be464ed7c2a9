#pragma once

#include <cstdint>
#include <map>

#include "testing/simulation/broken_promise.hpp"
#include "testing/simulation/history.hpp"

namespace troupe::simulation {

/// The part of a judge that is about edges: credits, and epochs.
class edges_heard {
 public:
  /// `epoch`: of the worker that the event is of.
  void hear(const event& each, std::uint64_t epoch) {
    edge_seen& edge = edges_[each.value];
    switch (each.what) {
      case happening::edge_lost:
        ++lost_;
        return;
      case happening::edge_sent:
        if (++edge.sent > edge.freed + each.other) {
          broken("credits", "edge {} of {} slots has {} on it", each.value, each.other, edge.sent - edge.freed);
        }
        return;
      case happening::edge_taken:
        if (each.epoch < epoch) {
          broken("no-stale-epoch", "worker {} took of epoch {} in epoch {}", each.worker, each.epoch, epoch);
        }
        return;
      case happening::edge_freed:
        ++edge.freed;
        return;
      default:
        return;
    }
  }
  [[nodiscard]] std::size_t lost() const noexcept { return lost_; }

 private:
  struct edge_seen {
    std::uint64_t sent = 0;
    std::uint64_t freed = 0;
  };
  std::map<std::uint64_t, edge_seen> edges_;
  std::size_t lost_ = 0;
};

}  // namespace troupe::simulation
