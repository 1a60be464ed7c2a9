#include "runtime/model/layer_code.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <ATen/ops/empty.h>

#include "messages/limits.hpp"
#include "runtime/model/chain_graph.hpp"
#include "runtime/tensor/quantized_tensor.hpp"

namespace troupe {
namespace {

/// A write can be seen here alone: this handle is the only one of the tensor, and the tensor the only one of its
/// storage.
bool is_unshared(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1;
}

}  // namespace

layer_code::layer_code(const torch::jit::Module& module)
    : self_(module._ivalue()),
      forward_(&module.get_method("forward").function()),
      writes_input_(may_write_input(module)) {}

layer_code::layer_code(const layer& one) {
  if (!one.passes_through) *this = layer_code(one.module);
}

at::Tensor layer_code::run(at::Tensor input) {
  if (forward_ == nullptr) return input;
  if (writes_input_ && !is_unshared(input)) input = faithful_copy(input);
  stack_.clear();
  stack_.emplace_back(self_);
  stack_.emplace_back(std::move(input));
  forward_->run(stack_);
  if (stack_.size() != 1 || !stack_.back().isTensor()) {
    const std::string kind = stack_.empty() ? "nothing" : "a " + stack_.back().tagKind();
    stack_.clear();
    throw std::runtime_error("it gave " + kind + " instead of one tensor");
  }
  at::Tensor output = std::move(stack_.back()).toTensor();
  stack_.clear();
  return output;
}

std::vector<layer_code> code_of(std::span<const layer> layers) {
  return {layers.begin(), layers.end()};
}

}  // namespace troupe
