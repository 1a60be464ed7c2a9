#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/engine_host.hpp"
#include "runtime/engine/loader_engine.hpp"
#include "runtime/engine/stage_engine.hpp"

namespace troupe::testing {

/// Engines that are stepped by a run, one unit of work at a time.
struct stepped_engines final : engine_host {
  struct entry {
    std::shared_ptr<engine> driven;
    std::uint32_t slowness = 1;
    bool finished = false;
    std::optional<std::uint32_t> idle_since = std::nullopt;  // its bell's epoch when it last found nothing to do

    [[nodiscard]] bool may_have_work() const { return !finished && idle_since != driven->bell().epoch(); }
    /// Whether there was anything to do.
    [[nodiscard]] bool step() {
      const std::uint32_t epoch = driven->bell().epoch();
      const step_result result = driven->step();
      finished = result == step_result::finished;
      idle_since.reset();
      if (result == step_result::idle) idle_since = epoch;
      return result != step_result::idle;
    }
  };
  explicit stepped_engines(std::map<stage_address, std::uint32_t> s) : slowness(std::move(s)) {}

  [[nodiscard]] expected<void> start(std::shared_ptr<engine> engine) override {
    engine->on_thread_start();
    const auto slow = slowness.find(address_of(*engine));
    entries.push_back({.driven = std::move(engine), .slowness = slow == slowness.end() ? 1 : slow->second});
    return {};
  }
  static stage_address address_of(const engine& each) {
    const auto* stage = dynamic_cast<const stage_engine*>(&each);
    return stage != nullptr ? stage->address() : dynamic_cast<const loader_engine&>(each).address();
  }

  const std::map<stage_address, std::uint32_t> slowness;
  std::vector<entry> entries;
};

}  // namespace troupe::testing
