#pragma once

#include <cstdint>
#include <vector>

#include <troupe/messages/activation.hpp>
#include <troupe/messages/error.hpp>
#include <troupe/messages/score.hpp>

namespace troupe {

/// What a stage computes: the arithmetic of one replica of one stage. The engine calls it from one thread at a time,
/// first on_start(), then forward() as often as there are micro-batches. An exception that escapes becomes a value
/// (E0602).
class stage_body {
 public:
  stage_body() = default;
  stage_body(const stage_body&) = delete;
  stage_body& operator=(const stage_body&) = delete;
  virtual ~stage_body() = default;

  /// Once, in the engine's own thread, before the first forward (thread counts, caches).
  virtual void on_start() {}

  /// Pure: the same input gives the same output, and the input is not written (it may be replayed). What it returns
  /// shares no storage with `input.tensors`.
  [[nodiscard]] virtual expected<payload_ptr> forward(const activation& input) = 0;
};

/// Turns the outputs of one micro-batch into what its sink wants to know: metric states, and outputs if asked for.
/// Belongs to one call; the last stage's engine calls it from its own thread.
class scorer {
 public:
  scorer() = default;
  scorer(const scorer&) = delete;
  scorer& operator=(const scorer&) = delete;
  virtual ~scorer() = default;

  /// Fills samples, words and outputs of `into`; the engine has filled in id, sink and incarnation.
  [[nodiscard]] virtual expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) = 0;
};

}  // namespace troupe
