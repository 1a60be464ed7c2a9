#pragma once

#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

#include <troupe/named_tensors.hpp>

namespace troupe {

/// Which samples a case takes: bool [N], row k for sample k of the input. Pure: the same input, the same answer.
using route_predicate = std::function<at::Tensor(const named_tensors& inputs)>;

/// One way out of a route. Without a predicate it takes what no case before it took.
struct route_case {
  /// The output port.
  std::string name;
  route_predicate predicate = nullptr;
};

/// A predicate asked sample by sample: gets every tensor without its dimension 0.
route_predicate for_each_sample(std::function<bool(const named_tensors& sample)> predicate);

}  // namespace troupe
