#pragma once

#include <memory>

#include "runtime/flow/stage_body.hpp"
#include "testing/simulation/plan.hpp"
#include <troupe/ids.hpp>

namespace troupe::simulation {

/// What happens around a forward of a simulated worker.
class forward_surroundings {
 public:
  virtual ~forward_surroundings() = default;
  /// May throw: in the forward, or as the end of its process.
  virtual void begin_forward(stage_index stage, micro_batch_id id) = 0;
  /// `word`: over all outputs; `samples`: those that came in.
  virtual void end_forward(micro_batch_id id, std::uint64_t word, std::uint64_t samples) = 0;
  /// In place of the end: a user's code threw.
  virtual void code_threw(micro_batch_id id, std::string why) = 0;

 protected:
  forward_surroundings() = default;
};

/// What a node computes: see plain_evaluation.hpp. `around` and `of` outlive it.
[[nodiscard]] std::shared_ptr<stage_body> make_hash_body(forward_surroundings& around, const plan& of,
                                                         stage_index stage);

}  // namespace troupe::simulation
