#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace troupe {

/// How weights follow from gradients. The learning rate is not among the options: each decision has its own.
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

/// What an optimizer keeps of each parameter, by PyTorch's names in the state of an optimizer, in the order of the
/// memory: "momentum_buffer" (sgd with momentum), "exp_avg", "exp_avg_sq" and "max_exp_avg_sq" (amsgrad).
std::span<const std::string_view> moment_names(const optimizer_options& options);

}  // namespace troupe
