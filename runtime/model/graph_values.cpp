#include "runtime/model/graph_values.hpp"

#include <algorithm>

#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/graph/graph_code.hpp"
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

}  // namespace

std::set<std::string> names_of_inputs(const payload_ptr& data) {
  std::set<std::string> names;
  if (data == nullptr) return names;
  for (std::size_t at = 0; at < as_tensors(data).tensors().size(); ++at) names.insert(as_tensors(data).stored_name(at));
  return names;
}

expected<graph_values> inputs_by_name(const std::vector<graph_input>& arguments, const payload_ptr& data,
                                      const std::string& where) {
  const tensor_set& given = as_tensors(data);
  if (arguments.size() != given.tensors().size()) return other_inputs(arguments, given, where);
  if (arguments.size() == 1) return given.tensors();
  graph_values ordered;
  for (const graph_input& each : arguments) {
    std::size_t at = 0;
    while (at < given.tensors().size() && given.stored_name(at) != each.name) ++at;
    if (at == given.tensors().size()) return other_inputs(arguments, given, where);
    ordered.push_back(given.tensors()[at]);
  }
  return ordered;
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
