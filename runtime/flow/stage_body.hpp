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

  /// `inputs`: one part per input port, all of one id, not all of them empty. `outputs`: one per output port; they come
  /// with the header, rows and labels of inputs[0], and without tensors; every one needs tensors in the end, unless
  /// it is an empty part.
  /// Pure: the same inputs give the same outputs, and the inputs are not written (they may be replayed). What it makes
  /// shares no storage with the inputs' tensors.
  [[nodiscard]] virtual expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) = 0;

  /// Asked after each run that succeeded: the event behind the work that a device still does on the outputs. Until it
  /// has passed, they are not read, and inputs and outputs stay alive. Null: they are ready. Events pass in the order
  /// of the runs.
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
