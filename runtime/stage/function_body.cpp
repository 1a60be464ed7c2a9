#include "runtime/stage/function_body.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/stage/rows.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/own_memory.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {
namespace {

std::string port_tensor_name(const std::string& port, const std::string& tensor) {
  return tensor.empty() ? port : port + "." + tensor;
}

/// Undefined where there are several.
at::Tensor only_input(std::span<const activation> inputs) {
  if (inputs.size() != 1 || inputs.front().tensors == nullptr) return {};
  const std::vector<at::Tensor>& tensors = as_tensors(inputs.front().tensors).tensors();
  return tensors.size() == 1 ? tensors.front() : at::Tensor();
}

}  // namespace

function_body::function_body(std::shared_ptr<stage_function> function, function_body_options options)
    : function_(std::move(function)), options_(std::move(options)) {
  TROUPE_CHECK(function_ != nullptr, "the factory's result was checked");
}

void function_body::on_start() {
  set_threads_of_this_thread(options_.context.threads);
  const c10::InferenceMode inference;
  function_->start(options_.context);
}

expected<void> function_body::run(std::span<const activation> inputs, std::span<activation> outputs) try {
  const c10::InferenceMode inference;
  auto given = TROUPE_TRY(gather_inputs(inputs));
  const activation& first = inputs.front();
  return hand_out(function_->run(given, {first.id, first.samples, first.rows}), outputs);
} catch (const std::exception& e) {
  return fail(
      error_code::forward_failed, options_.context.name, libtorch_message(e),
      libtorch_fix(e, "check the stage with such an input, outside the pipeline", {.input = only_input(inputs)}));
}

expected<named_tensors> function_body::gather_inputs(std::span<const activation> inputs) const {
  named_tensors given;
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    if (!same_rows(inputs[port], inputs.front())) {
      return fail(error_code::forward_failed, options_.context.name,
                  "its inputs \"" + options_.inputs.front() + "\" and \"" + options_.inputs[port] +
                      "\" hold different samples of the micro-batch",
                  "put a join before it, that brings the parts of a route together");
    }
    for (const auto& [name, tensor] : to_named(inputs[port].tensors)) {
      given.set(inputs.size() == 1 ? name : port_tensor_name(options_.inputs[port], name), prepared(tensor));
    }
  }
  return given;
}

at::Tensor function_body::prepared(const at::Tensor& input) const {
  const auto dtype = options_.context.dtype;
  if (dtype && input.is_floating_point() && input.scalar_type() != *dtype) return input.to(*dtype);
  return function_->may_write_input() ? faithful_copy(input) : input;
}

/// `made`: their only handles, where nothing else refers to them.
expected<void> function_body::hand_out(const named_tensors& made, std::span<activation> outputs) const {
  named_tensors own;
  for (const auto& [name, tensor] : made) {
    if (!tensor.defined()) {
      return fail(error_code::forward_failed, options_.context.name,
                  "it returned an undefined tensor" + (name.empty() ? "" : " \"" + name + "\""), "return every tensor");
    }
    own.set(name, is_only_owner(tensor) ? tensor : faithful_copy(tensor));
  }
  if (own.empty()) {
    return fail(error_code::forward_failed, options_.context.name, "it returned no tensor", "return at least one");
  }
  if (outputs.size() == 1) {
    outputs.front().tensors = to_payload(own);
    return {};
  }
  for (std::size_t port = 0; port < outputs.size(); ++port) {
    const at::Tensor* found = own.find(options_.outputs[port]);
    if (found == nullptr) {
      return fail(error_code::forward_failed, options_.context.name,
                  "no tensor for its output \"" + options_.outputs[port] + "\"; it returned " + own.names(),
                  "name a tensor after each output");
    }
    outputs[port].tensors = make_tensors(*found);
  }
  return {};
}

}  // namespace troupe
