#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// How weights follow from gradients. The learning rate is not among the options: each step has its own.
enum class optimizer_kind : std::uint8_t {
  sgd,    ///< torch.optim.SGD
  adam,   ///< torch.optim.Adam: weight decay is added to the gradient
  adamw,  ///< torch.optim.AdamW: weight decay shrinks the weights
};

/// The options of PyTorch's optimizers of the same names, with their meaning.
struct optimizer_options {
  optimizer_kind kind = optimizer_kind::sgd;
  double weight_decay = 0;

  // sgd
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;  ///< needs momentum, and no dampening

  // adam, adamw
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double eps = 1e-8;
  bool amsgrad = false;
};

enum class loss_kind : std::uint8_t {
  cross_entropy,    ///< of scores [N, classes], or [N, positions, classes] with labels [N, positions]
  nll,              ///< the same of logarithms of probabilities
  mse,              ///< the mean over all elements
  l1,               ///< the mean over all elements
  bce_with_logits,  ///< the mean over all elements
  custom,           ///< a function
};

/// The loss of one micro-batch. The mean over any number of micro-batches is the total of the sums over the total of
/// the weights.
struct loss_terms {
  at::Tensor sum;     ///< one element, with its history for autograd
  double weight = 0;  ///< what the mean divides by: samples, tokens, or elements
};

/// A user's loss: a function of the outputs and labels that are chosen.
using training_loss_function = std::function<loss_terms(const at::Tensor& outputs, const at::Tensor& labels)>;

/// A loss, with the meaning of PyTorch's function of the same name and `reduction="mean"` over the whole step.
struct training_loss_options {
  loss_kind kind = loss_kind::cross_entropy;
  /// cross_entropy, nll: labels that do not count.
  std::int64_t ignore_index = -100;
  /// cross_entropy: from 0 to 1.
  double label_smoothing = 0;
  /// cross_entropy, nll: one per class; empty: all 1.
  std::vector<double> class_weights = {};
  /// custom.
  training_loss_function function = nullptr;
};

/// The loss of a text NAME:OPTION=VALUE:OPTION=VALUE, as "cross_entropy:ignore_index=-1:label_smoothing=0.1". Options
/// are ignore_index and class_weights (numbers with commas between them) of cross_entropy and nll, and label_smoothing
/// of cross_entropy. E0102 for another name or option, E0103 for another value.
[[nodiscard]] expected<training_loss_options> training_loss_of(const std::string& text);

/// A learning rate as a function of the step, from the text NAME:OPTION=VALUE:OPTION=VALUE, with the schedulers of
/// torch.optim.lr_scheduler: constant, linear, step, cosine, one_cycle, and warmup=N for each but the last
/// (docs/training.md). `base` is positive. E0102 for another name or option, E0103 for another value.
[[nodiscard]] expected<std::function<double(std::uint64_t step)>> learning_rate_of(double base,
                                                                                   const std::string& schedule);

/// From where a stage gets its state (weights, moments) when the host is lost whose memory has it. The death of a
/// worker alone loses no state.
enum class protection_kind : std::uint8_t {
  memory,      ///< from another replica of the stage; without one the training ends with E0620
  shadow,      ///< from a copy of all states that this process makes after each step
  checkpoint,  ///< the same, after every `every` steps; those since are done again, with the same batches and bits
};

struct training_protection {
  protection_kind kind = protection_kind::memory;
  static constexpr std::uint64_t every_max = 1'000'000;
  /// checkpoint: at least 1.
  std::uint64_t every = 1;
  friend bool operator==(const training_protection&, const training_protection&) = default;
};

/// "memory", "shadow", or "checkpoint:K" with K from 1 to 1000000. E0102 for another name, E0103 for another number.
[[nodiscard]] expected<training_protection> protection_of(const std::string& text);
/// As protection_of() takes it.
[[nodiscard]] std::string to_string(const training_protection& protection);

/// How a pipeline is trained (docs/training.md).
struct training_options {
  /// Micro-batches of a step over all replicas (DeepSpeed's gradient_accumulation_steps times its data-parallel ranks).
  std::uint64_t num_micro_batches = 1;
  optimizer_options optimizer = {};
  /// As a function of the number of the step, from 0 on, in this process alone. E0103 where it throws or is not finite.
  std::function<double(std::uint64_t step)> learning_rate = [](std::uint64_t) { return 0.01; };
  /// Gradients whose norm over all parameters is greater are scaled down to it, as clip_grad_norm_ does.
  std::optional<double> clip_norm = std::nullopt;
  /// Not set: the module's function, as the mean over the samples of a micro-batch.
  std::optional<training_loss_options> loss = std::nullopt;
  /// For all draws: initial weights, dropout.
  std::uint64_t seed = 0;
  /// Activation checkpointing: so many layers are one segment, of which the inputs alone are kept until the backward
  /// pass, which computes it again. 0: everything is kept.
  std::uint32_t recompute_interval = 0;
  /// Copies are in the memory of this process, as are the batches since: where these take more than a gibibyte, a copy
  /// is made earlier.
  training_protection protect = {};
};

}  // namespace troupe
