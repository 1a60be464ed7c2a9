#pragma once

#include <memory>
#include <span>

#include "actors/protocol.hpp"

namespace troupe {

/// A request to make the edges of a new epoch.
struct epoch_request {
  epoch_number epoch = 0;
  /// The stages that take part: at least one replica of every node, and all replicas of a node whose replicas are
  /// fixed. The loader always takes part.
  std::span<const stage_address> present;
  /// The first micro-batch that belongs to a call which has not ended.
  micro_batch_id from;
};

/// Starts the stages of a run and makes their edges. The stages are engines of this process (local_stages), or live in
/// worker processes, which may die and be replaced (worker_stages). Owned by the director's state. Threads: only the
/// director's actor calls it.
class stage_provider {
 public:
  stage_provider() = default;
  stage_provider(const stage_provider&) = delete;
  stage_provider& operator=(const stage_provider&) = delete;
  virtual ~stage_provider() = default;

  /// Makes the actor of an incarnation and begins to start its stage. The director then gets stage_ready, failure or
  /// stage_lost, and in the end stopped. The incarnation before has ended, or nothing that it does has an effect any
  /// more.
  [[nodiscard]] virtual expected<stage_actor> start(director_actor::pointer director,
                                                    const aggregator_actor& aggregator, stage_address at,
                                                    incarnation_number incarnation) = 0;

  /// Makes new edges between all that are present, hands each stage its edges, and returns those of the loader. The old
  /// edges are abandoned with everything that is on them.
  [[nodiscard]] virtual expected<std::shared_ptr<engine_wiring>> wire(const epoch_request& round) = 0;

  /// Ends the process of a stage that does not answer, whose loss is then reported as usual. False if the stage has no
  /// process of its own.
  [[nodiscard]] virtual bool end(stage_address at, const error& why) = 0;
};

}  // namespace troupe
