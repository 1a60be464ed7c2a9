#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/edge/edge.hpp"
#include "runtime/flow/fan_out.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// The ends of all edges of one engine in one epoch, on their way to the engine. A source has no inbound edges, a last
/// stage has no branches. Ends that the engine has not taken are abandoned by the destructor: to close them would look
/// like the end of the stream.
struct engine_wiring {
  struct input {
    std::size_t port = 0;
    std::unique_ptr<edge_consumer> edge;
  };
  std::vector<input> inbound;
  fan_out outbound;

  // Where the run trains, edges on which gradients are sent. An id is that of the micro-batch whose gradient it is.
  /// From the next stage; null at the last one.
  std::unique_ptr<edge_consumer> gradients_in;
  /// To the stage before; null at the first one.
  std::unique_ptr<edge_producer> gradients_out;
  /// To and from another replica of this stage, or a replica of a stage that shares parameters with it. Each sends its
  /// sums once per step, with the id {call, 0}.
  struct peer {
    stage_address address;
    std::unique_ptr<edge_producer> to;
    std::unique_ptr<edge_consumer> from;
  };
  /// All but this one, in any order.
  std::vector<peer> peers;

  engine_wiring() = default;
  engine_wiring(engine_wiring&&) = default;
  engine_wiring& operator=(engine_wiring&&) = delete;
  ~engine_wiring() {
    for (input& each : inbound) {
      if (each.edge != nullptr) each.edge->abandon();
    }
    outbound.abandon();
    if (gradients_in != nullptr) gradients_in->abandon();
    if (gradients_out != nullptr) gradients_out->abandon();
    for (peer& each : peers) {
      if (each.to != nullptr) each.to->abandon();
      if (each.from != nullptr) each.from->abandon();
    }
  }
};

}  // namespace troupe
