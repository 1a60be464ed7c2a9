// Every operator of LibTorch on the late device, by its kernel for the CPU: at once on zeros, for the shapes, and on
// the numbers when the stream has come so far.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include "testing/late_torch/late_guard.hpp"
#include "testing/late_torch/late_memory.hpp"
#include "testing/late_torch/late_streams.hpp"

namespace troupe::late {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool is_late(const at::Tensor& one) {
  return one.defined() && one.device().type() == c10::DeviceType::PrivateUse1;
}

/// `act` on each tensor in a value.
template <class Act>
IValue mapped(const IValue& value, const Act& act) {
  if (value.isTensor()) return act(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> made;
    for (const at::Tensor& each : value.toTensorList()) made.push_back(act(each));
    return made;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> made;
    for (const std::optional<at::Tensor>& each : value.toOptionalTensorList()) {
      made.push_back(each ? std::optional<at::Tensor>(act(*each)) : std::nullopt);
    }
    return made;
  }
  return value;
}

at::Tensor zeros_like(const at::Tensor& one) {
  if (!one.defined()) return one;
  return at::empty_strided(one.sizes(), one.strides(), one.options().device(at::kCPU)).zero_();
}

/// The place of a tensor on the device, by which the CPU's kernels read and write it: no owner, as on a device.
at::Tensor as_cpu(const at::Tensor& one) {
  if (!is_late(one)) return one;
  return at::from_blob(const_cast<void*>(one.const_data_ptr()), one.sizes(), one.strides(),
                       one.options().device(at::kCPU));
}

at::Tensor fresh_like(const at::Tensor& shape, c10::Device device) {
  return shape.defined() ? at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(device)) : shape;
}

void give(late_streams::work what) {
  streams().give(current_stream().id(), std::move(what));
}

/// What an operator returns of its own arguments (in-place operators), or -1.
int returned_argument(const c10::FunctionSchema& schema, std::size_t position) {
  const auto* alias = schema.returns()[position].alias_info();
  if (alias == nullptr) return -1;
  for (std::size_t index = 0; index < schema.arguments().size(); ++index) {
    const auto* of = schema.arguments()[index].alias_info();
    if (of != nullptr && of->beforeSets() == alias->beforeSets()) return static_cast<int>(index);
  }
  throw std::runtime_error("a view on the late device: " + schema.name());
}

/// An output that the caller gives has the shape of the result from now on.
void reshape_output(const at::Tensor& output, const at::Tensor& shape) {
  if (!is_late(output) || output.sizes() == shape.sizes()) return;
  const at::Tensor room = fresh_like(shape, output.device());
  output.unsafeGetTensorImpl()->set_storage_keep_dtype(room.storage());
  output.unsafeGetTensorImpl()->set_sizes_and_strides(room.sizes(), room.strides());
}

/// What the operator makes of zeros.
Stack shapes_by(const c10::OperatorHandle& op, const Stack& given) {
  Stack stack;
  for (const IValue& each : given) {
    stack.push_back(each.isDevice() ? IValue(c10::Device(at::kCPU)) : mapped(each, zeros_like));
  }
  const Stack held = stack;  // outputs that are arguments are let go of before they are returned
  op.callBoxed(stack);
  return stack;
}

/// The host reads outputs that are no tensors: it waits.
void run_now(const c10::OperatorHandle& op, const Stack& given, Stack* stack) {
  streams().synchronize(streams().now(current_stream().id()));
  Stack on_cpu;
  for (const IValue& each : given) on_cpu.push_back(mapped(each, as_cpu));
  op.callBoxed(on_cpu);
  for (IValue& each : on_cpu) stack->push_back(std::move(each));
}

/// As CUDA's kernels do: a number may be on the host, a tensor may not.
void refuse_mixed(const Stack& given) {
  const bool is_mixed = std::any_of(given.begin(), given.end(), [](const IValue& each) {
    return each.isTensor() && each.toTensor().defined() && each.toTensor().is_cpu() && each.toTensor().dim() > 0;
  });
  if (is_mixed)
    throw std::runtime_error("Expected all tensors to be on the same device, but found at least two devices");
}

/// `computed` gives shapes and numbers; `op` the schema.
void run_late(const c10::OperatorHandle& computed, const c10::OperatorHandle& op, Stack* stack) {
  const c10::InferenceMode inference;
  const auto& schema = op.schema();
  const std::size_t count = schema.arguments().size();
  const Stack given(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
  stack->erase(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
  refuse_mixed(given);
  const Stack shapes = shapes_by(computed, given);
  if (!std::all_of(shapes.begin(), shapes.end(), [](const IValue& each) { return each.isTensor(); })) {
    return run_now(computed, given, stack);
  }
  const c10::Device device = current_stream().device();
  std::vector<std::pair<std::size_t, at::Tensor>> fresh;
  for (std::size_t position = 0; position < shapes.size(); ++position) {
    const int argument = returned_argument(schema, position);
    if (argument >= 0) {
      const IValue& own = given[static_cast<std::size_t>(argument)];
      reshape_output(own.toTensor(), shapes[position].toTensor());
      stack->push_back(own);
      continue;
    }
    at::Tensor made = fresh_like(shapes[position].toTensor(), device);
    if (made.defined()) fresh.emplace_back(position, as_cpu(made));
    stack->push_back(std::move(made));
  }
  Stack on_cpu;
  for (const IValue& each : given) on_cpu.push_back(mapped(each, as_cpu));
  give([computed, on_cpu, fresh] {
    const c10::InferenceMode inside;
    Stack results = on_cpu;
    computed.callBoxed(results);
    for (const auto& [position, into] : fresh) into.copy_(results.at(position).toTensor());
  });
}

void run_any(const c10::OperatorHandle& op, Stack* stack) {
  run_late(op, op, stack);
}

/// LibTorch leaves the choice of a convolution's kernel to an extension.
void run_convolution(const c10::OperatorHandle& op, Stack* stack) {
  static const auto computed = c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution", "");
  run_late(computed, op, stack);
}

at::Tensor empty(c10::SymIntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(sizes), &device_memory(),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), dtype.value_or(at::kFloat),
                                   format);
}

at::Tensor empty_strided(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
                                           &device_memory(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           dtype.value_or(at::kFloat));
}

/// From memory that is not pinned a device takes a copy before the call returns. Between devices no host waits, as with
/// CUDA.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& into, bool non_blocking) {
  const bool is_taken_now = !is_late(from) && !is_pinned(from.const_data_ptr());
  const at::Tensor source = is_taken_now ? from.clone() : as_cpu(from);
  const at::Tensor target = as_cpu(into);
  give([source, target] {
    const c10::InferenceMode inside;
    target.copy_(source);
  });
  const bool is_between_devices = is_late(from) && is_late(into);
  const bool is_to_pageable = !is_late(into) && !is_pinned(into.const_data_ptr());
  if (is_to_pageable || (!non_blocking && !is_between_devices))
    streams().synchronize(streams().now(current_stream().id()));
  return into;
}

at::Tensor as_strided(const at::Tensor& of, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                      std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(
      of, C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
      offset ? std::optional<std::int64_t>(offset->guard_int(__FILE__, __LINE__)) : std::nullopt);
}

at::Tensor view(const at::Tensor& of, c10::SymIntArrayRef sizes) {
  return at::native::view(of, C10_AS_INTARRAYREF_SLOW(sizes));
}

at::Tensor reshape_alias(const at::Tensor& of, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides) {
  return as_strided(of, sizes, strides, of.storage_offset());
}

at::Scalar local_scalar(const at::Tensor& of) {
  streams().synchronize(streams().now(current_stream().id()));
  return as_cpu(of).item();
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_any>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("as_strided", &as_strided);
  library.impl("view", &view);
  library.impl("_reshape_alias", &reshape_alias);
  library.impl("_local_scalar_dense", &local_scalar);
  library.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&run_convolution>());
}

}  // namespace
}  // namespace troupe::late
