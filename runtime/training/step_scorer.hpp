#pragma once

#include "runtime/flow/stage_body.hpp"

namespace troupe {

/// The scores of a training step: at the first sink the loss_words (runtime/step/step_losses.hpp) that the last stage
/// has put beside its outputs, at others the number of samples alone.
class step_scorer final : public scorer {
 public:
  explicit step_scorer(bool is_first_sink) : is_first_sink_(is_first_sink) {}
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override;

 private:
  bool is_first_sink_;
};

}  // namespace troupe
