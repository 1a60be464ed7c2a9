#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/edge/edge.hpp"
#include "runtime/flow/fan_out.hpp"

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

  engine_wiring() = default;
  engine_wiring(engine_wiring&&) = default;
  engine_wiring& operator=(engine_wiring&&) = delete;
  ~engine_wiring() {
    for (input& each : inbound) {
      if (each.edge != nullptr) each.edge->abandon();
    }
    outbound.abandon();
  }
};

}  // namespace troupe
