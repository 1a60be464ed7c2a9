#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <troupe/error.hpp>

namespace troupe {

struct found_layer {
  std::string name;
  torch::jit::Module module;
  bool passes_through = false;
};

/// The layers of `module` in the order in which its forward runs them (what a chain is: model.hpp). A child that is
/// called again, by another method or with constants is behind a module whose forward is that call; it shares the
/// child's weights. `where` begins the errors. LibTorch's exceptions pass.
expected<std::vector<found_layer>> find_layers(const torch::jit::Module& module, const std::string& where);

/// A copy of the graph of forward, in which no call of another module is left.
std::shared_ptr<torch::jit::Graph> inlined_forward(const torch::jit::Module& module);

/// Whether forward may write the memory of its input, by LibTorch's alias analysis: when in doubt, it may.
bool may_write_input(const torch::jit::Module& module);

}  // namespace troupe
