#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/activation.hpp"
#include "messages/training.hpp"
#include "messages/try.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The computation of one stage replica that is trained: layers, their weights, and what the optimizer keeps of them.
/// The engine calls it from one thread: on_start() first, then per call forward() and backward() of each micro-batch,
/// then sum_of_gradients(), finish() and apply(). Backward passes come in the order of the forward passes. An escaping
/// exception becomes E0602.
///
/// The weights change in apply() alone. Until then every pass is a pure function of weights, inputs and the
/// micro-batch's id and samples, so that a step that is begun anew gives the same bits.
class training_body {
 public:
  training_body() = default;
  training_body(const training_body&) = delete;
  training_body& operator=(const training_body&) = delete;
  virtual ~training_body() = default;

  virtual void on_start() {}
  /// Steps of the optimizer that were carried out in the life of the weights.
  [[nodiscard]] virtual std::uint64_t steps() const noexcept { return 0; }

  /// Gives `output` its tensors; it has the header, rows and labels of `input`. The last stage computes the loss, too,
  /// and adds it and its weight to the tensors. Keeps what backward() needs. The tensors of the input stay valid until
  /// backward() or drop(). A pass that fails keeps nothing, and is tried once more. Neither this nor backward() is
  /// called for an empty part.
  [[nodiscard]] virtual expected<void> forward(const activation& input, activation& output) = 0;
  /// As in evaluation: nothing is kept, and there is no loss.
  [[nodiscard]] virtual expected<void> evaluate(const activation& input, activation& output) = 0;

  /// `gradient`: by tensor of the outputs of forward(), the derivative of the step's undivided loss; null at the last
  /// stage, which has the loss itself. Adds the gradient of the weights to the step's sum, and returns that of the
  /// inputs, a tensor for each one of floating point; null where the stage has none to return, as the first one.
  [[nodiscard]] virtual expected<payload_ptr> backward(micro_batch_id id, const payload_ptr& gradient) = 0;

  /// What this replica has summed up, for the other replicas of the stage. Null where it had no micro-batch.
  [[nodiscard]] virtual expected<payload_ptr> sum_of_gradients() = 0;
  /// What it has summed up of the parameters that other stages have, too, for all replicas of these stages
  /// (docs/decisions/0047). Null where there is nothing. Called where the stage has such peers.
  [[nodiscard]] virtual expected<payload_ptr> tied_sums() { return payload_ptr{}; }
  /// All backward passes of the call are done. `sums` has the sums of all replicas in their order, this one's among
  /// them; it is empty where the stage has one replica. `tied` has the tied_sums() of the stages that share parameters
  /// with this one, in the order of stages and then of replicas. Fills weight, squared_norms, state_hash and
  /// not_finite.
  [[nodiscard]] virtual expected<void> finish(call_number call, std::span<const payload_ptr> sums,
                                              std::span<const payload_ptr> tied, step_vote& into) = 0;

  /// Carries out a decision about the call that was finished last. The decision of an older call has no effect, as it
  /// was carried out before. E0620 for a later one, whose gradient is not here.
  [[nodiscard]] virtual expected<void> apply(const step_decision& decision) = 0;
  /// Lets go of all micro-batches whose backward pass is to come, and of the unfinished sum. A finished gradient stays.
  virtual void drop() noexcept = 0;
};

}  // namespace troupe
