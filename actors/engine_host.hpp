#pragma once

#include <memory>

#include "runtime/flow/engine.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Who makes engines run: threads in production (engine_threads), seeded steps in simulation. Owned by the running
/// program, never by an actor.
class engine_host {
 public:
  engine_host() = default;
  engine_host(const engine_host&) = delete;
  engine_host& operator=(const engine_host&) = delete;
  virtual ~engine_host() = default;

  /// From now on the engine is stepped until it has finished. Called by the director, once per engine. An error (no
  /// thread to be had) leaves the engine as it was.
  [[nodiscard]] virtual expected<void> start(std::shared_ptr<engine> engine) = 0;
};

}  // namespace troupe
