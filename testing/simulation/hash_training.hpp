#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "runtime/flow/training_body.hpp"
#include "testing/simulation/hash_body.hpp"
#include "testing/simulation/plan.hpp"

namespace troupe::simulation {

inline constexpr std::uint64_t first_tied_weight = 4711;

/// Of one stage replica, in memory that outlives its workers and not their driver.
struct hash_weights {
  std::uint64_t value = 0;
  std::uint64_t gradient = 0;
  /// A copy of the weight that stages share, and its gradient.
  std::uint64_t tied = first_tied_weight;
  std::uint64_t tied_gradient = 0;
  std::optional<call_number> finished = std::nullopt;
  std::optional<call_number> decided = std::nullopt;
};
using weights_by_stage = std::map<stage_address, hash_weights>;

/// What a stage of a chain computes that trains: a forward pass as that of make_hash_body(), which begins with the
/// weights in place of the stage's number; plain_training.hpp has the rest. `around`, `kept` and `of` outlive it.
[[nodiscard]] std::shared_ptr<training_body> make_hash_training_body(forward_surroundings& around, hash_weights& kept,
                                                                     stage_address at, const plan& of);

/// The learning rate of a step.
[[nodiscard]] constexpr double simulated_rate(std::uint64_t step) noexcept {
  return 1.0 / static_cast<double>(1 + step);
}

}  // namespace troupe::simulation
