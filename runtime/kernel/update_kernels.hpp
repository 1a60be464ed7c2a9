#pragma once

#include <cstdint>

#include "runtime/kernel/vector_width.hpp"

namespace troupe {

/// The numbers of one update by stochastic gradient descent, as torch.optim.SGD has them.
struct sgd_step {
  double gradient_scale = 1;  ///< the gradient is multiplied by it first
  double learning_rate = 0;
  double momentum = 0;  ///< 0: no momentum, whose arrays are then null
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool is_first = false;  ///< the momentum becomes the gradient itself
};

/// The numbers of one update by Adam, as torch.optim.Adam and AdamW have them.
struct adam_step {
  double gradient_scale = 1;
  double learning_rate = 0;
  double beta_1 = 0;
  double beta_2 = 0;
  double eps = 0;
  double weight_decay = 0;
  bool is_decoupled = false;  ///< AdamW
  std::uint64_t number = 1;   ///< of this update, from 1
};

/// Arrays of one update, all of the same number of elements. Those that are written overlap no other one.
template <class Number>
struct update_arrays {
  const Number* gradient = nullptr;
  const Number* weights = nullptr;
  Number* new_weights = nullptr;
  /// Momentum; or the averages of the gradient, of its square and, with amsgrad, the largest one of the latter.
  const Number* moments[3] = {};
  Number* new_moments[3] = {};
};

/// Loops over arrays of `count` numbers. Each element is computed on its own with the same roundings, so that the bits
/// depend neither on the vector width nor on how arrays are cut, where a cut of squares() is at a multiple of 65,536.
template <class Number>
struct update_kernels {
  /// to = from. false where a number is infinite or NaN.
  bool (*copy)(Number* to, const Number* from, std::int64_t count);
  /// sum = sum + more. false where a sum is infinite or NaN.
  bool (*add)(Number* sum, const Number* more, std::int64_t count);
  /// The sum of the squares in double: eight sums of the elements i, i + 8, i + 16 and so on, added in a fixed order.
  double (*squares)(const Number* from, std::int64_t count);
  void (*sgd)(const sgd_step& step, const update_arrays<Number>& arrays, std::int64_t count);
  /// With amsgrad where the arrays have three moments.
  void (*adam)(const adam_step& step, const update_arrays<Number>& arrays, std::int64_t count);
};

/// `width` must be one of usable_vector_widths().
template <class Number>
const update_kernels<Number>& update_kernels_of(vector_width width = widest_vector_width());

extern template const update_kernels<float>& update_kernels_of(vector_width);
extern template const update_kernels<double>& update_kernels_of(vector_width);

}  // namespace troupe
