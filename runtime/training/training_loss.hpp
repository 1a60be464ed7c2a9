#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/activation.hpp"
#include "messages/payload.hpp"
#include <troupe/error.hpp>
#include <troupe/metric.hpp>
#include <troupe/named_tensors.hpp>
#include <troupe/training.hpp>

namespace troupe {

/// A loss, with the meaning of PyTorch's function of the same name and `reduction="mean"` over the whole step.
struct training_loss {
  loss_kind kind = loss_kind::cross_entropy;
  /// cross_entropy, nll: labels that do not count.
  std::int64_t ignore_index = -100;
  /// cross_entropy: from 0 to 1.
  double label_smoothing = 0;
  /// cross_entropy, nll: one per class; empty: all 1.
  std::vector<double> class_weights = {};
  /// custom.
  training_loss_function function = nullptr;
  /// Which of several outputs and labels.
  scored_names names = {};

  /// `outputs`: of the last stage. E0603 for outputs and labels that do not fit; E0602 for an exception of a user's
  /// function.
  [[nodiscard]] expected<loss_terms> of(const payload_ptr& outputs, const activation& input) const;
};

/// "cross_entropy". E0102 for a name that is none, with the list; "custom" is none.
expected<loss_kind> loss_kind_of(const std::string& name);
std::string_view name_of(loss_kind kind);
std::vector<std::string> loss_names();

/// A function that gives the mean over the samples of a micro-batch, as a pipeline_module has it, as a training_loss.
/// It returns one tensor.
training_loss_function loss_of_mean(loss_function mean);

/// The last stage adds the sum and the weight of a micro-batch's loss to its outputs, as tensors [1] of type Double
/// under these names.
inline constexpr std::string_view loss_sum_name = "troupe.loss_sum";
inline constexpr std::string_view loss_weight_name = "troupe.loss_weight";

/// Takes them out of such outputs: the model gave the others.
struct loss_numbers {
  double sum = 0;
  double weight = 0;
  payload_ptr outputs;
};
/// Nothing for outputs without them, as of an evaluation.
std::optional<loss_numbers> take_loss(const payload_ptr& outputs);

}  // namespace troupe
