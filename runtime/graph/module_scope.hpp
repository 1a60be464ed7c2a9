#pragma once

#include <string>
#include <string_view>

#include <torch/csrc/jit/ir/scope.h>

namespace troupe {

/// One call of a module. Two calls of one module are two scopes.
struct module_call {
  std::string path;  ///< from the root, with the names of the model's attributes: "encoder.layer.0"; empty for the root
  std::string type;  ///< the Python class's own name: "BertLayer"
};

/// The scope of a call inside of another one (or inside of the blank scope of a graph, for the root's). Operators carry
/// the scope of the innermost call that they are part of. Passes keep it: a node that takes the place of others has
/// the scope and the source range of the one that has the weights, or of the last of them (Node::copyMetadata).
torch::jit::ScopePtr scope_inside(const torch::jit::ScopePtr& around, const module_call& call);

/// The call that a scope stands for. The empty path and type for a scope that scope_inside() has not made.
module_call call_of(const torch::jit::Scope& scope);

}  // namespace troupe
