#pragma once

#include <vector>

#include "messages/training.hpp"

namespace troupe::testing {

/// A vote of the epoch 1. The last stage is told by its weight.
inline step_vote vote_of(stage_address at, call_number call, std::vector<double> squares, double weight = 0) {
  step_vote vote;
  vote.address = at;
  vote.epoch = 1;
  vote.call = call;
  vote.weight = weight;
  vote.squared_norms = std::move(squares);
  vote.state_hash = 100 + at.stage;
  return vote;
}

}  // namespace troupe::testing
