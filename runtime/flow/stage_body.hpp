#pragma once

#include <memory>
#include <span>

#include "messages/activation.hpp"
#include "messages/score.hpp"
#include "messages/try.hpp"
#include "runtime/device/device_context.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The computation of one replica of a stage, join or route. The engine calls it from one thread: on_start() first,
/// then run() once per micro-batch. An escaping exception becomes E0602.
class stage_body {
 public:
  stage_body() = default;
  stage_body(const stage_body&) = delete;
  stage_body& operator=(const stage_body&) = delete;
  virtual ~stage_body() = default;

  /// Called once in the engine's thread before the first run() (thread counts, caches). An exception ends the run.
  virtual void on_start() {}

  /// `inputs`: one part per input port, all of one id; at least one part is not empty. `outputs`: one part per output
  /// port. They have the header, rows and labels of inputs[0], and no tensors; run() gives each of them its tensors,
  /// unless it makes it an empty part.
  /// run() is pure: the same inputs give the same outputs, and it does not write to the inputs, since they may be
  /// replayed. The tensors of the outputs share no storage with those of the inputs.
  [[nodiscard]] virtual expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) = 0;

  /// Called after each run that succeeded. Returns an event that passes when a device has finished its work on the
  /// outputs, or null if the outputs are ready now. Before it has passed the engine does not read the outputs, and
  /// keeps inputs and outputs alive. Events pass in the order of the runs.
  [[nodiscard]] virtual std::shared_ptr<context_event> outputs_ready() { return nullptr; }
};

/// The common case: one input, and the same tensors on every output.
class unary_body : public stage_body {
 public:
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) final {
    auto tensors = TROUPE_TRY(forward(inputs.front()));
    for (activation& each : outputs) each.tensors = tensors;
    return {};
  }

  [[nodiscard]] virtual expected<payload_ptr> forward(const activation& input) = 0;
};

/// Computes the score of one micro-batch for its sink: metric states, and outputs if requested. Belongs to one call.
/// The last stage's engine calls it from its thread.
class scorer {
 public:
  scorer() = default;
  scorer(const scorer&) = delete;
  scorer& operator=(const scorer&) = delete;
  virtual ~scorer() = default;

  /// Fills samples, words and outputs of `into`; the engine fills the other members. Not called for an empty part,
  /// whose score has no samples and no words.
  [[nodiscard]] virtual expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) = 0;
};

}  // namespace troupe
