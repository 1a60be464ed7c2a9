#include "runtime/model/probe.hpp"

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "messages/try.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/model/expected_input.hpp"
#include "runtime/model/guilty_step.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/tensor/tensor_description.hpp"

namespace troupe {
namespace {

constexpr auto probe_fix =
    "use the data that the model was made for, or put a layer in front that converts it; a model must not have the "
    "batch size of its example input built in";

std::string description(const at::Tensor& tensor) {
  if (!tensor.defined()) return "nothing";
  return to_string(tensor.sizes().vec()) + " of " + c10::toString(tensor.scalar_type());
}

/// The tensor that was made last, numbers left aside.
const at::Tensor& last_tensor(const graph_values& values) {
  const auto found = std::find_if(values.rbegin(), values.rend(), [](const at::Tensor& one) { return one.dim() > 0; });
  return found == values.rend() ? values.back() : *found;
}

std::string layout_name(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.layout();
  return text.str();
}

/// The first input of the model, and its samples.
struct given_sample {
  at::Tensor first;
  std::int64_t rows = 0;
};

tl::unexpected<error> rejection(const layered_graph& graph, std::size_t layer, const graph_values& values,
                                const given_sample& sample, const std::exception& caught) {
  const guilty_step guilty = find_guilty(graph.part(layer, layer + 1), values);
  const at::Tensor found = values.empty() ? at::Tensor() : last_tensor(values);
  std::string cause = "the layer does not accept the sample: found an input of shape " + description(found);
  if (const auto wanted = expected_input(graph, layer)) cause += ", expected " + *wanted;
  if (!guilty.step.empty()) cause += ", in " + guilty.step;
  return fail(
      error_code::model_rejects_sample, graph.model().file + ", " + layer_text(layer, graph.layers()[layer]),
      cause + ": " + libtorch_message(caught),
      libtorch_fix(caught, probe_fix,
                   {.input = found, .data = sample.first.scalar_type(), .weights = weights_type(graph, layer)}));
}

/// Every layer may be the last of a stage, so what it gives must be able to go to another process.
expected<void> check_output(const layered_graph& graph, std::size_t layer, const at::Tensor& value) {
  const auto refuse = [&](std::string cause, std::string fix) {
    return fail(error_code::model_rejects_sample, graph.model().file + ", " + layer_text(layer, graph.layers()[layer]),
                std::move(cause), std::move(fix));
  };
  if (value.layout() != at::kStrided) {
    return refuse("the layer gives a tensor of layout " + layout_name(value) + ", and dense ones pass between layers",
                  "let the layer end with to_dense()");
  }
  if (!value.device().is_cpu()) {
    return refuse("the layer gives a tensor on " + value.device().str() + " for one on the CPU",
                  "export the model on the CPU, without a device in its code");
  }
  const std::string why = why_no_bytes(value);
  if (why.empty()) return {};
  return refuse("the layer gives a tensor that " + why + ", which cannot pass between stages",
                "let the layer give a dense tensor of floating-point numbers or integers");
}

/// Several outputs are looked at where they are scored.
expected<void> check_only_output(const layered_graph& graph, const at::Tensor& value, const given_sample& sample) {
  const std::size_t last = graph.layers().size() - 1;
  const std::string where = graph.model().file + ", " + layer_text(last, graph.layers()[last]);
  if (value.dim() < 1 || value.size(0) != sample.rows) {
    return fail(error_code::model_rejects_sample, where,
                "the model gives " + description(value) + " for an input of shape " + description(sample.first) +
                    ": dimension 0 must stay the number of samples",
                probe_fix);
  }
  if (value.is_quantized()) {
    return fail(error_code::model_rejects_sample, where, "the model gives a quantized tensor, and metrics read numbers",
                "end the model with a torch.ao.quantization.DeQuantStub, or with dequantize()");
  }
  return {};
}

/// `more` has one sample more, or is empty.
passing_values shapes_of(const graph_values& values, const graph_values& more, const layered_graph& graph,
                         std::size_t place, std::int64_t rows) {
  const auto crossing = graph.crossing(place);
  passing_values made;
  for (std::size_t at = 0; at < values.size(); ++at) {
    const std::uint64_t bytes = values[at].nbytes();
    const std::uint64_t larger =
        more.empty() ? bytes + bytes / static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1)) : more[at].nbytes();
    made.push_back({.shape = std::nullopt, .bytes = bytes, .bytes_per_sample = std::max(larger, bytes) - bytes});
    if (crossing[at]->type()->kind() == c10::TypeKind::TensorType) made.back().shape = values[at].sizes().vec();
  }
  return made;
}

/// Empty where the model does not take so many samples, which the run reports.
graph_values run_if_taken(const graph_code& code, const graph_values& values) {
  if (values.empty()) return {};
  try {
    return code.run(values);
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

std::string to_string(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::uint64_t bytes_of(const passing_values& all, std::uint64_t further_samples) {
  std::uint64_t bytes = 0;
  for (const passing_value& each : all) bytes += each.bytes + each.bytes_per_sample * further_samples;
  return bytes;
}

expected<std::vector<passing_values>> probe_layers(const layered_graph& graph, const graph_values& inputs,
                                                   const std::stop_token& stop, const graph_values& one_more) {
  const c10::InferenceMode inference;
  const given_sample sample{inputs.front(), inputs.front().dim() == 0 ? 0 : inputs.front().size(0)};
  std::vector<passing_values> shapes;
  graph_values values = inputs;
  graph_values more = one_more;
  for (std::size_t layer = 0; layer < graph.layers().size(); ++layer) {
    if (stop.stop_requested()) return stopped_early(graph.model().file);
    shapes.push_back(shapes_of(values, more, graph, layer, sample.rows));
    const graph_values before = values;
    try {
      const graph_code code(graph.part(layer, layer + 1));
      values = code.run(values);
      more = run_if_taken(code, more);
    } catch (const std::exception& caught) {
      return rejection(graph, layer, before, sample, caught);
    }
    for (const at::Tensor& each : values) TROUPE_TRY(check_output(graph, layer, each));
  }
  shapes.push_back(shapes_of(values, more, graph, graph.layers().size(), sample.rows));
  if (values.size() == 1) TROUPE_TRY(check_only_output(graph, values.front(), sample));
  return shapes;
}

}  // namespace troupe
