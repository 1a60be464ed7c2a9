#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "messages/activation.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Which of several outputs is scored against which of several labels; empty: the only one.
struct scored_names {
  std::string output = {};
  std::string label = {};
};

/// The output of that name, or the only one, of the outputs for `input`. It lives as long as `outputs`. E0603, which
/// lists the outputs, for another number of them or another name.
[[nodiscard]] expected<const at::Tensor*> find_output(const payload_ptr& outputs, const std::string& name,
                                                      const activation& input);
/// The same of the labels of `input`.
[[nodiscard]] expected<const at::Tensor*> find_label(const activation& input, const std::string& name);

}  // namespace troupe
