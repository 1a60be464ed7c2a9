#pragma once

#include <string>

#include <torch/csrc/jit/api/module.h>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The operator graph of a TorchScript module in eval mode: all calls are written out, and attributes become constants,
/// which share the module's storage. Outputs may be a tensor, or tuples, lists and dicts of tensors within each other.
/// `name` is the file, or what stands for it. E0208: there is no forward, or it takes or gives something else. E0214:
/// written out it has more than graph_nodes_max nodes. LibTorch's exceptions pass.
expected<operator_graph> lower_module(const torch::jit::Module& module, std::string name);

}  // namespace troupe
