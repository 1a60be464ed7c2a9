#include "runtime/graph/module_scope.hpp"

#include <c10/util/intrusive_ptr.h>

namespace troupe {

// A symbol cannot be empty, and neither paths nor class names have a blank: "scope::encoder.layer.0 BertLayer".
torch::jit::ScopePtr scope_inside(const torch::jit::ScopePtr& around, const module_call& call) {
  return around->push(c10::Symbol::scope(call.path + " " + call.type));
}

module_call call_of(const torch::jit::Scope& scope) {
  const std::string name = scope.name().toUnqualString();
  const auto blank = name.find(' ');
  return blank == std::string::npos ? module_call{} : module_call{name.substr(0, blank), name.substr(blank + 1)};
}

}  // namespace troupe
