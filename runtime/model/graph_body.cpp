#include "runtime/model/graph_body.hpp"

#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/model/guilty_step.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {
namespace {

constexpr auto forward_fix =
    "check that the model accepts such an input, with --stages 1 --optimize none; if memory ran out, use a smaller "
    "--micro-batch";

}  // namespace

graph_body::graph_body(graph_part part, graph_body_options options)
    : part_(std::move(part)), code_(part_), options_(std::move(options)) {
  TROUPE_CHECK(options_.threads >= 1, "thread counts are resolved before a stage is made");
}

void graph_body::on_start() {
  set_threads_of_this_thread(options_.threads);
  if (options_.warm_up.size() != code_.inputs()) return;
  const c10::InferenceMode inference;
  try {
    for (std::uint32_t i = 0; i < limits::profile_warm_up_passes; ++i) static_cast<void>(code_.run(options_.warm_up));
  } catch (const std::exception&) {
    // it repeats itself in the first real forward, where it is reported
  }
  return_freed_memory();  // weights as they were before they were packed
}

expected<graph_values> graph_body::inputs_of(const activation& input) const {
  const std::string where = "stage " + std::to_string(options_.stage);
  if (!options_.arguments.empty()) {
    return inputs_by_name(options_.arguments, input.tensors, where, options_.absent);
  }
  const std::vector<at::Tensor>& given = as_tensors(input.tensors).tensors();
  if (given.size() == code_.inputs()) return given;
  return fail(error_code::forward_failed, where,
              "this part of the model takes " + std::to_string(code_.inputs()) + " tensors, and it got " +
                  std::to_string(given.size()),
              "feed the stage from the one before it");
}

expected<payload_ptr> graph_body::forward(const activation& input) {
  const auto inputs = TROUPE_TRY(inputs_of(input));
  const c10::InferenceMode inference;
  try {
    graph_values outputs = code_.run(inputs);
    return std::make_shared<const tensor_set>(std::move(outputs), options_.outputs);
  } catch (const std::exception& caught) {
    return failure(inputs, caught);
  }
}

tl::unexpected<error> graph_body::failure(const graph_values& inputs, const std::exception& caught) const {
  const guilty_step guilty = find_guilty(part_, inputs);
  return fail(error_code::forward_failed, "stage " + std::to_string(options_.stage) + ", " + guilty.layer,
              "forward failed" + (guilty.step.empty() ? "" : " in " + guilty.step) + ": " + libtorch_message(caught),
              libtorch_fix(caught, forward_fix, {.input = guilty.input, .weights = guilty.weights}));
}

}  // namespace troupe
