#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// What went wrong in LibTorch's own words: exception_text().
std::string libtorch_message(const std::exception& caught);

/// The forward that failed, as far as it is known.
struct forward_facts {
  /// What the layer or stage was given; undefined if that is not known.
  at::Tensor input = {};
  /// The type of the data, before any layer; Undefined: as `input`.
  at::ScalarType data = at::ScalarType::Undefined;
  /// The floating type of the layer's weights.
  std::optional<at::ScalarType> weights = std::nullopt;
};

/// What to do about it: `otherwise`, unless LibTorch found no memory, met two floating types, such as float64 inputs
/// and float32 weights, was sent to a GPU by the code of a model that runs on the CPU, or has no kernel for quantized
/// tensors. Where memory is short its message says how much was asked for and, of a GPU, how much is free.
std::string libtorch_fix(const std::exception& caught, std::string otherwise, const forward_facts& facts = {});

/// The type of the first of these that is floating.
std::optional<at::ScalarType> floating_type_of(const std::vector<at::Tensor>& tensors);

}  // namespace troupe
