#pragma once

#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/payload.hpp"
#include "runtime/graph/layered_graph.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What crosses one place of a graph, in its order.
using graph_values = std::vector<at::Tensor>;

/// The inputs of a model from the named tensors of a micro-batch: the only one for the only argument, whatever its
/// name, and several by the names of the arguments. E0209, whose place is `where`, if one is missing, or if the data
/// have one that the model does not take, or if one has sizes that the model was not exported for, or ids that it has
/// no embeddings for (check_ids). It also tells of one of the names in `absent`, which are optional arguments that
/// bind_inputs() got no data for.
expected<graph_values> inputs_by_name(const std::vector<graph_input>& arguments, const payload_ptr& data,
                                      const std::string& where, const std::vector<std::string>& absent = {});

/// Names of the data's inputs, for bind_inputs().
std::set<std::string> names_of_inputs(const payload_ptr& data);

/// The first `rows` samples of a model's inputs.
graph_values first_rows(const graph_values& inputs, std::int64_t rows);

/// What crosses the front of each layer of `boundaries`, but for the last one, when `inputs` go through the model:
/// shapes, dtypes and strides as in a real run. The model accepts the inputs (probe_layers); should it not, E0602 names
/// the layer. E0607 if it is told to stop. Runs in the calling thread, with that thread's settings.
expected<std::vector<graph_values>> inputs_of_parts(const layered_graph& graph,
                                                    const std::vector<std::size_t>& boundaries,
                                                    const graph_values& inputs, const std::stop_token& stop);

}  // namespace troupe
