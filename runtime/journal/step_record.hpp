#pragma once

#include <cstdint>
#include <vector>

#include "messages/training.hpp"

namespace troupe {

/// A decision about a training step as the journal keeps it, with what it was made from. All values are the same for
/// every number of stages and replicas, but the call: that is numbered within one run.
struct step_record {
  /// Decisions before this one in the life of the weights, also those that were not applied.
  std::uint64_t number = 0;
  step_decision decision;
  /// The sum of the weights of the step's samples, by which its gradient is divided.
  double weight = 0;
  /// The norm of the divided gradient, before clipping; 0 where the weight is.
  double norm = 0;
  /// What the scores of the step were folded to, as the submitter of the call keeps it: at most
  /// limits::score_words_max.
  std::vector<std::uint64_t> folded = {};
};

}  // namespace troupe
