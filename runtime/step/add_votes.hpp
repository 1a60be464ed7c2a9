#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "messages/training.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the votes of a step come to, with the same bits for every number of stages and replicas.
struct vote_sums {
  /// That of the samples of all replicas, added as the top of the tree in which gradients are added
  /// (docs/decisions/0045).
  double weight = 0;
  /// That of the gradient divided by the weight: the squares added in the order of the parameters, in double. 0 where
  /// the weight is 0.
  double norm = 0;
};

/// `votes`: of all replicas of all stages, in the order of stages and then of replicas. `step`: for the messages.
/// Errors: E0621 names the replicas of a stage that differ from the others, where more than half are alike, and
/// otherwise all of the stage; E0619 names step, stage, layer and micro-batch of a gradient that is not finite, of the
/// last stage that names one, as gradients come from there; where none does, the last stage whose norm is no number.
[[nodiscard]] expected<vote_sums> add_votes(std::uint64_t step, std::span<const step_vote> votes);

/// What torch's clip_grad_norm_ multiplies a gradient of this norm by; 1 without a limit.
[[nodiscard]] double clip_factor(double norm, std::optional<double> norm_max) noexcept;

}  // namespace troupe
