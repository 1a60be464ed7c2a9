#include "runtime/model/layer_stack.hpp"

#include <exception>

#include <c10/core/InferenceMode.h>

#include "messages/exception_text.hpp"
#include "runtime/model/layer_code.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {

void layer_stack::on_start() {
  set_threads_of_this_thread(threads_);
}

expected<payload_ptr> layer_stack::forward(const activation& input) {
  const c10::InferenceMode inference;
  const named_layer* at_work = nullptr;
  forward_facts facts;
  constexpr const char* fix = "check that the layer accepts such an input";
  const auto where = [&] { return stage_ + (at_work == nullptr ? "" : ", " + at_work->name); };
  try {
    const std::vector<at::Tensor>& given = as_tensors(input.tensors).tensors();
    if (given.size() != 1) {
      return fail(error_code::forward_failed, stage_,
                  "a chain of layers takes one tensor, and it got " + std::to_string(given.size()),
                  "feed the stage from one edge that carries one tensor");
    }
    at::Tensor value = faithful_copy(given.front());
    facts.data = value.scalar_type();
    for (const named_layer& each : layers_) {
      at_work = &each;
      facts.input = value;
      value = each.layer.forward(value);
    }
    if (value.defined()) return make_tensors(std::move(value));
    return fail(error_code::forward_failed, stage_ + ", " + at_work->name, "it returned an undefined tensor",
                "return a tensor");
  } catch (const std::exception& e) {
    if (at_work != nullptr) facts.weights = floating_type_of(at_work->layer.tensors);
    return fail(error_code::forward_failed, where(), "forward failed: " + libtorch_message(e),
                libtorch_fix(e, fix, facts));
  } catch (...) {
    return fail(error_code::forward_failed, where(), "forward failed: " + current_exception_text(), fix);
  }
}

}  // namespace troupe
