#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/flow/stage_body.hpp"
#include "runtime/ledger/call_fold.hpp"
#include "runtime/metric/scored_tensor.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// The values that a call of eval_batch needs per micro-batch.
struct loss_request {
  bool compute_loss = true;
  bool keep_outputs = false;
};

/// words: the parts of the loss as bits of doubles. outputs: if requested, a copy with no other owner. Of several
/// outputs and labels `names` chooses one; E0603 where it does not.
class loss_scorer final : public scorer {
 public:
  loss_scorer(loss_function loss, loss_request request, scored_names names = {})
      : loss_(std::move(loss)), request_(request), names_(std::move(names)) {}
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override;

 private:
  loss_function loss_;
  loss_request request_;
  scored_names names_;
};

/// Keeps losses and outputs of each micro-batch, in order.
class loss_fold final : public call_fold {
 public:
  [[nodiscard]] expected<void> fold(const score& next) override;

  /// [micro-batch][part]
  [[nodiscard]] const std::vector<std::vector<double>>& losses() const noexcept { return losses_; }
  /// [micro-batch]; empty unless requested
  [[nodiscard]] const std::vector<at::Tensor>& outputs() const noexcept { return outputs_; }
  /// DeepSpeed's `avg`: the unweighted mean over micro-batches of each part; empty if there was no micro-batch.
  [[nodiscard]] std::vector<double> mean_loss() const;
  /// The element-wise mean of the outputs, which must all have one shape.
  [[nodiscard]] expected<at::Tensor> mean_outputs() const;

 private:
  std::vector<std::vector<double>> losses_;
  std::vector<at::Tensor> outputs_;
};

}  // namespace troupe
