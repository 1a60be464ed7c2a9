#pragma once

#include <cstdint>
#include <set>

#include "testing/simulation/history.hpp"
#include "testing/simulation/plain_training.hpp"
#include "testing/simulation/plan.hpp"

namespace troupe::simulation {

/// What a judge knows of the steps of a plan that trains. The plan outlives it.
class judged_training {
 public:
  /// `seen`: to the end, as a step may be computed again before its decision, and one that is cancelled changes
  /// nothing.
  judged_training(const plan& what, const history& seen);

  [[nodiscard]] std::uint64_t weights_in(std::uint32_t node, std::uint64_t call) const {
    return plain_.weights_in(call).at(node);
  }
  /// A decision is made once, of a step whose `folded` micro-batches are all of them, and as a plain loop makes it.
  void decide(const event& each, std::uint64_t folded);
  /// A call ends without an error.
  void end_well(std::uint64_t call) const;

 private:
  const plan& plan_;
  plain_training plain_;
  std::set<std::uint64_t> decided_;
};

}  // namespace troupe::simulation
