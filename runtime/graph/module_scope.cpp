#include "runtime/graph/module_scope.hpp"

#include <c10/util/intrusive_ptr.h>

namespace troupe {

namespace {

/// Between path and type. Neither has a control character.
constexpr char separator = '\x1f';

}  // namespace

torch::jit::ScopePtr scope_inside(const torch::jit::ScopePtr& around, const module_call& call) {
  return around->push(c10::Symbol::scope(call.path + separator + call.type));
}

module_call call_of(const torch::jit::Scope& scope) {
  const std::string name = scope.name().toUnqualString();
  const auto at = name.find(separator);
  return at == std::string::npos ? module_call{} : module_call{name.substr(0, at), name.substr(at + 1)};
}

}  // namespace troupe
