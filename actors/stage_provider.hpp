#pragma once

#include <memory>
#include <span>

#include "actors/protocol.hpp"

namespace troupe {

/// Fresh edges for those who are there.
struct epoch_request {
  epoch_number epoch = 0;
  /// All that take part, the loader aside: at least one replica of every node, all of a node whose replicas are fixed.
  std::span<const stage_address> present;
  /// The first micro-batch of a call that has not ended: what comes below it is of calls that have ended.
  micro_batch_id from;
};

/// Where the stages of a run come from: engines of this process (local_stages), and what may die alone and be replaced.
/// Owned by the director's state. Threads: the director's actor alone calls it.
class stage_provider {
 public:
  stage_provider() = default;
  stage_provider(const stage_provider&) = delete;
  stage_provider& operator=(const stage_provider&) = delete;
  virtual ~stage_provider() = default;

  /// Makes the actor of an incarnation and begins to start the stage behind it. The actor tells the director
  /// stage_ready, failure or stage_lost, and in the end stopped. The incarnation before is fenced: it is ended, or its
  /// later actions have no effect.
  [[nodiscard]] virtual expected<stage_actor> start(director_actor::pointer director,
                                                    const aggregator_actor& aggregator, stage_address at,
                                                    incarnation_number incarnation) = 0;

  /// New edges between all that are present, told to each of them; returns the loader's. What was on the old ones is
  /// lost, and their end is not told.
  [[nodiscard]] virtual expected<std::shared_ptr<engine_wiring>> wire(const epoch_request& round) = 0;

  /// Ends the process of a stage that does not answer. Its end is told as any other's. False if it has none.
  [[nodiscard]] virtual bool end(stage_address at, const error& why) = 0;
};

}  // namespace troupe
