#pragma once

#include <memory>

#include "runtime/flow/engine.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Makes engines run: by threads in production (engine_threads), by steps in an order drawn from a seed in simulation.
/// Owned by the running program, never by an actor.
class engine_host {
 public:
  engine_host() = default;
  engine_host(const engine_host&) = delete;
  engine_host& operator=(const engine_host&) = delete;
  virtual ~engine_host() = default;

  /// From now on the engine is stepped until it has finished. Called by the director, once per engine. An error says
  /// that the system gives no thread; the engine is then as it was.
  [[nodiscard]] virtual expected<void> start(std::shared_ptr<engine> engine) = 0;
};

}  // namespace troupe
