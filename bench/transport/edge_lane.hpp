#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "lane_end.hpp"
#include "runtime/edge/edge.hpp"
#include <troupe/error.hpp>

namespace troupe::bench {

/// What an edge told of its peer's loss or of damage, from whatever thread.
class edge_trouble {
 public:
  void put(const error& told);
  /// Throws what was told.
  void check() const;

 private:
  std::atomic<bool> told_{false};
  mutable std::mutex guard_;
  std::string text_;
};

/// One side of two edges, one there and one back. As in an engine, one bell serves both.
struct edge_lane_parts {
  /// Destroyed last: what the bell and the edges lie in (mapped pages, an endpoint). May be null.
  std::shared_ptr<void> ground;
  std::shared_ptr<doorbell> bell;
  std::shared_ptr<edge_trouble> trouble;
  std::unique_ptr<edge_producer> producer;
  std::unique_ptr<edge_consumer> consumer;
};

[[nodiscard]] std::unique_ptr<lane_end> make_edge_lane(edge_lane_parts parts, patience wait);

}  // namespace troupe::bench
