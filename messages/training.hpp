#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

/// The messages of the two-phase commit with which a training step ends (docs/decisions/0044). A step is a call: its
/// micro-batches have the ids {call, 0}, {call, 1} and so on.
namespace troupe {

/// Two stages that share weights, as places of tied layers lie in both (docs/decisions/0047). `one` is the first.
struct tied_stages {
  stage_index one = 0;
  stage_index other = 0;

  friend auto operator<=>(const tied_stages&, const tied_stages&) = default;
};

/// stage replica -> director, when all backward passes of the call are done and the gradients of all replicas are
/// added up. No reply. The stage keeps weights and gradient until the decision comes, and takes nothing of a later call
/// before that. A vote of an older epoch than the present one does not count, because its stage has begun the step
/// anew.
struct step_vote {
  stage_address address;
  incarnation_number incarnation = 0;
  epoch_number epoch = 0;
  call_number call = 0;
  /// How many micro-batches the replica has seen, those without samples among them.
  std::uint64_t micro_batches = 0;
  /// What the gradient is to be divided by, as far as this replica knows it: at the last stage the sum of the weights
  /// of the samples (or tokens) that it has seen, elsewhere 0.
  double weight = 0;
  /// By parameter of the stage, in its order: the sum of the squares of the gradient's elements. All replicas of a
  /// stage say the same.
  std::vector<double> squared_norms = {};
  /// A hash of the bytes of the stage's gradient and weights. All replicas of a stage say the same: a replica that
  /// differs has a damaged copy.
  std::uint64_t state_hash = 0;
  /// The gradient has infinity or NaN: names layer and micro-batch.
  std::optional<error> not_finite = std::nullopt;
};

/// director -> stages, after it was written to the journal. No reply. May be repeated: a stage that has
/// carried out the decision of this call, or of a later one, ignores it.
struct step_decision {
  call_number call = 0;
  /// The number of the optimizer's step, from 0 on, in the life of the weights: a resumed run goes on counting.
  std::uint64_t step = 0;
  /// false: weights and moments stay as they are.
  bool is_applied = true;
  /// The stage multiplies its gradient, which is a sum over samples, by this: the factor of clipping over the sum of
  /// the votes' weights.
  double gradient_scale = 1;
  double learning_rate = 0;
};

/// aggregator -> director: every score of this step is folded at every sink. No reply. May be repeated.
struct call_folded {
  call_number call = 0;
  /// So many the call has.
  std::uint64_t micro_batches = 0;
};

/// director -> aggregator, after the decision: the call is complete, and the low-water mark passes it. No reply. Has no
/// effect on a call that has ended.
struct commit_call {
  call_number call = 0;
};

}  // namespace troupe
