#pragma once

#include <string>
#include <vector>

#include "runtime/optimizer/optimizer_options.hpp"

namespace troupe::testing {

/// What torch.optim made of weights over some steps: recorded/record.py.
struct recorded_update {
  std::string name;
  optimizer_options options;
  double learning_rate = 0;
  struct state {
    std::vector<float> weights = {};
    std::vector<std::vector<float>> moments = {};
  };
  /// After each step; the first one is the state before all steps.
  std::vector<state> states = {};
};

struct recorded_updates {
  std::vector<std::vector<float>> gradients = {};
  std::vector<recorded_update> cases = {};
};

recorded_updates read_recorded_updates();

}  // namespace troupe::testing
