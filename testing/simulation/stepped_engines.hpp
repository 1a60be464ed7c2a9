#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/engine_host.hpp"
#include "testing/simulation/timeline.hpp"

namespace troupe::simulation {

/// One process's engines, which a run steps one unit of work at a time. An engine is stepped again after its bell has
/// rung, or after its own limit where that is shorter than the one that only makes up for lost rings: a lost ring is a
/// run that does not end.
class stepped_engines final : public engine_host {
 public:
  struct entry {
    std::shared_ptr<engine> driven;
    nanoseconds ready_at{0};
    bool is_finished = false;
    /// Its bell when it last found nothing to do, and when it looks again all the same.
    std::optional<std::uint32_t> idle_since = std::nullopt;
    nanoseconds looks_again{0};
  };
  [[nodiscard]] expected<void> start(std::shared_ptr<engine> engine) override {
    engine->on_thread_start();
    entries.push_back({.driven = std::move(engine)});
    return {};
  }

  /// When it has something to do; `never` if it waits to be rung.
  static constexpr nanoseconds never = nanoseconds::max();
  [[nodiscard]] static nanoseconds due(const entry& each) {
    if (each.is_finished) return never;
    if (each.idle_since != each.driven->bell().epoch()) return each.ready_at;
    return std::max(each.ready_at, each.looks_again);
  }

  std::vector<entry> entries;
};

/// `took` more of virtual time, during which it does nothing else. What step() throws.
inline void step(stepped_engines::entry& each, nanoseconds now, nanoseconds took) {
  const std::uint32_t epoch = each.driven->bell().epoch();
  const step_result result = each.driven->step();
  each.is_finished = result == step_result::finished;
  each.idle_since.reset();
  each.ready_at = now + took;
  if (result != step_result::idle) return;
  each.ready_at = now;
  each.idle_since = epoch;
  const nanoseconds limit = each.driven->park_limit();
  each.looks_again = limit < limits::park_max ? now + limit : stepped_engines::never;
}

}  // namespace troupe::simulation
