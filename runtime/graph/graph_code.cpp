#include "runtime/graph/graph_code.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include "messages/check.hpp"
#include "runtime/graph/written_memory.hpp"
#include "runtime/tensor/faithful_copy.hpp"

namespace troupe {
namespace {

/// A write can be seen here alone: this handle is the only one of the tensor, and the tensor the only one of its
/// storage.
bool is_unshared(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1;
}

c10::IValue unpacked(at::Tensor tensor, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
      return tensor.item<std::int64_t>();
    case c10::TypeKind::FloatType:
      return tensor.item<double>();
    case c10::TypeKind::BoolType:
      return tensor.item<bool>();
    case c10::TypeKind::ListType: {
      const at::Tensor here = tensor.cpu().contiguous();
      const auto* begin = here.const_data_ptr<std::int64_t>();
      return c10::List<std::int64_t>(c10::ArrayRef<std::int64_t>(begin, here.numel()));
    }
    default:
      return tensor;
  }
}

at::Tensor packed(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  if (value.isInt()) return at::scalar_tensor(value.toInt(), at::kLong);
  if (value.isDouble()) return at::scalar_tensor(value.toDouble(), at::kDouble);
  if (value.isBool()) return at::scalar_tensor(value.toBool(), at::kBool);
  if (value.isIntList()) return at::tensor(value.toIntVector(), at::kLong);
  throw std::runtime_error("it gave a " + value.tagKind() + " instead of a tensor");
}

}  // namespace

graph_code::graph_code(const graph_part& part) : code_(part.graph, "part of a model"), state_(part.state) {
  const written_memory memory(*part.graph);
  for (std::size_t at = state_ ? 1 : 0; at < part.graph->inputs().size(); ++at) {
    const torch::jit::Value* const input = part.graph->inputs()[at];
    kinds_.push_back(input->type());
    written_.push_back(memory.may_be_written(input));
  }
}

std::vector<at::Tensor> graph_code::run(std::vector<at::Tensor> inputs) const {
  TROUPE_CHECK(inputs.size() == kinds_.size(), "the caller has compared the number of inputs");
  torch::jit::Stack stack;
  stack.reserve(inputs.size() + 1);
  if (state_) stack.push_back(*state_);
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    at::Tensor value = std::move(inputs[at]);
    if (written_[at] && !is_unshared(value)) value = faithful_copy(value);
    stack.push_back(unpacked(std::move(value), kinds_[at]));
  }
  torch::jit::InterpreterState(code_).run(stack);
  std::vector<at::Tensor> outputs;
  outputs.reserve(stack.size());
  for (const c10::IValue& value : stack) outputs.push_back(packed(value));
  return outputs;
}

}  // namespace troupe
