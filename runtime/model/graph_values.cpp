#include "runtime/model/graph_values.hpp"

#include <algorithm>

#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/model/check_ids.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

constexpr auto names_fix =
    "name the inputs of the data after the arguments of forward: npz:FILE,inputs=A+B, npy:A=FILE,B=FILE,..., or the "
    "names of a sample_block's inputs";

template <class Name>
std::string quoted_list(std::size_t count, const Name& name) {
  std::string text;
  for (std::size_t at = 0; at < count; ++at) {
    const std::string one = name(at);
    text += (text.empty() ? "" : ", ") + (one.empty() ? std::string("one without a name") : "\"" + one + "\"");
  }
  return text;
}

tl::unexpected<error> other_inputs(const std::vector<graph_input>& arguments, const tensor_set& data,
                                   const std::string& where) {
  return fail(error_code::model_rejects_sample, where,
              "the model takes the inputs " +
                  quoted_list(arguments.size(), [&](std::size_t at) { return arguments[at].name; }) +
                  ", and the data have " +
                  quoted_list(data.tensors().size(), [&](std::size_t at) { return data.stored_name(at); }),
              names_fix);
}

/// An export without a dynamic dimension 0 has its number of samples built in, though its first operators may not mind.
expected<void> check_dynamic_batch(const std::vector<graph_input>& arguments, const std::string& where) {
  for (const graph_input& each : arguments) {
    const auto samples = fixed_batch(each);
    if (!samples) continue;
    return fail(error_code::model_rejects_sample, where,
                "it was exported for " + std::to_string(*samples) + (*samples == 1 ? " sample" : " samples") +
                    " alone: dimension 0 of \"" + each.name + "\" is not dynamic",
                "export it with an example of two or more samples, and name dimension 0 of each input as dynamic: "
                "torch.export.export(model, inputs, dynamic_shapes=({0: torch.export.Dim(\"batch\", min=1, "
                "max=65536)}, ...)), as docs/exporting.md shows");
  }
  return {};
}

std::string range_text(const size_range& allowed) {
  if (allowed.min == allowed.max) return std::to_string(allowed.min) + " alone";
  if (allowed.min == 0) return "at most " + std::to_string(allowed.max);
  if (allowed.max == size_range{}.max) return "at least " + std::to_string(allowed.min);
  return std::to_string(allowed.min) + " to " + std::to_string(allowed.max);
}

expected<void> check_sizes(const std::vector<graph_input>& arguments, const graph_values& values,
                           const std::string& where) {
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const graph_input& input = arguments[at];
    if (!input.sizes) continue;
    const auto refuse = [&](const std::string& found, std::string fix) {
      return fail(error_code::model_rejects_sample, where, "the input \"" + input.name + "\" has " + found,
                  std::move(fix));
    };
    if (static_cast<std::size_t>(values[at].dim()) != input.sizes->size()) {
      return refuse(std::to_string(values[at].dim()) + " dimensions, and the model was exported for " +
                        std::to_string(input.sizes->size()),
                    "use data of the shape that the model was exported for");
    }
    for (std::size_t dim = 0; dim < input.sizes->size(); ++dim) {
      const std::int64_t size = values[at].size(static_cast<std::int64_t>(dim));
      const size_range& allowed = (*input.sizes)[dim];
      if (size >= allowed.min && size <= allowed.max) continue;
      return refuse("the size " + std::to_string(size) + " in dimension " + std::to_string(dim) +
                        ", and the model was exported for " + range_text(allowed),
                    dim == 0 ? "use a --micro-batch that the model was exported for, or name a wider range in the "
                               "export: torch.export.Dim(\"batch\", min=1, max=65536)"
                             : "use data of a size that the model was exported for, or name this dimension as dynamic "
                               "in the export, as docs/exporting.md shows");
    }
  }
  return {};
}

}  // namespace

std::set<std::string> names_of_inputs(const payload_ptr& data) {
  std::set<std::string> names;
  if (data == nullptr) return names;
  for (std::size_t at = 0; at < as_tensors(data).tensors().size(); ++at) names.insert(as_tensors(data).stored_name(at));
  return names;
}

namespace {

/// Where the data have an input that could have been bound.
void explain_absent(error& refused, const std::vector<std::string>& absent, const payload_ptr& data) {
  const std::set<std::string> given = names_of_inputs(data);
  for (const std::string& each : absent) {
    if (!given.contains(each)) continue;
    refused.cause += "; \"" + each + "\" is optional, and was not among the inputs that the model was made for";
    refused.fix =
        "give the option `sample` of the pipeline_engine all inputs that its batches have; in a run, give "
        "the first micro-batch all inputs of the later ones";
    return;
  }
}

expected<graph_values> in_order(const std::vector<graph_input>& arguments, const payload_ptr& data,
                                const std::string& where) {
  TROUPE_TRY(check_dynamic_batch(arguments, where));
  const tensor_set& given = as_tensors(data);
  if (arguments.size() != given.tensors().size()) return other_inputs(arguments, given, where);
  graph_values ordered;
  for (const graph_input& each : arguments) {
    std::size_t at = 0;
    while (arguments.size() > 1 && at < given.tensors().size() && given.stored_name(at) != each.name) ++at;
    if (at == given.tensors().size()) return other_inputs(arguments, given, where);
    ordered.push_back(given.tensors()[at]);
  }
  TROUPE_TRY(check_sizes(arguments, ordered, where));
  for (std::size_t at = 0; at < arguments.size(); ++at) TROUPE_TRY(check_ids(arguments[at], ordered[at], where));
  return ordered;
}

}  // namespace

expected<graph_values> inputs_by_name(const std::vector<graph_input>& arguments, const payload_ptr& data,
                                      const std::string& where, const std::vector<std::string>& absent) {
  auto inputs = in_order(arguments, data, where);
  if (!inputs) explain_absent(inputs.error(), absent, data);
  return inputs;
}

graph_values first_rows(const graph_values& inputs, std::int64_t rows) {
  graph_values fewer;
  for (const at::Tensor& each : inputs)
    fewer.push_back(each.dim() == 0 ? each : each.narrow(0, 0, std::min(rows, each.size(0))));
  return fewer;
}

expected<std::vector<graph_values>> inputs_of_parts(const layered_graph& graph,
                                                    const std::vector<std::size_t>& boundaries,
                                                    const graph_values& inputs, const std::stop_token& stop) {
  TROUPE_CHECK(!boundaries.empty() && boundaries.back() == graph.layers().size(), "boundaries cover the model");
  const c10::InferenceMode no_gradients;
  std::vector<graph_values> found = {inputs};
  for (std::size_t part = 0; part + 2 < boundaries.size(); ++part) {
    if (stop.stop_requested()) return stopped_early(graph.model().file);
    try {
      found.push_back(graph_code(graph.part(boundaries[part], boundaries[part + 1])).run(found.back()));
    } catch (const std::exception& caught) {
      return fail(error_code::forward_failed,
                  graph.model().file + ", " + layer_text(boundaries[part], graph.layers()[boundaries[part]]),
                  "forward failed: " + libtorch_message(caught));
    }
  }
  return found;
}

}  // namespace troupe
