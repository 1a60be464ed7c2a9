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

at::Tensor faithful_copy(const at::Tensor& tensor) {
  if (tensor.is_quantized() && tensor.device().is_cpu())
    return with_quantizer_of(tensor, faithful_copy(integers_of(tensor)));
  if (tensor.layout() != at::kStrided || tensor.numel() == 0 || !tensor.has_storage()) return tensor.clone();
  if (tensor.is_conj() || tensor.is_neg()) return tensor.clone();
  std::int64_t span = 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) span += (tensor.size(d) - 1) * tensor.stride(d);
  const auto item = static_cast<std::uintptr_t>(tensor.element_size());
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  const auto shift = static_cast<std::int64_t>(address % limits::payload_alignment / item);
  const at::Tensor room = at::empty({shift + span}, tensor.options());
  room.slice(0, shift).copy_(tensor.as_strided({span}, {1}, tensor.storage_offset()));
  return room.as_strided(tensor.sizes(), tensor.strides(), shift);
}

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
