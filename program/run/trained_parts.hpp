#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "program/topology/topology_parts.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/training/trained_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The part of a pipeline's model that training needs: the plain graph of a model from a file, bound to the inputs that
/// get data; null for layers of code, which each stage builds anew.
layered_graph_ptr trained_graph_of(const cut_pipeline& pipeline, const layered_model& model);

/// The layers [begin, end) of a pipeline that is trained. Errors: make_layer_part(), make_graph_training_part().
expected<std::unique_ptr<trained_part>> make_trained_part(const cut_pipeline& pipeline, const layered_graph_ptr& graph,
                                                          std::size_t begin, std::size_t end,
                                                          const std::vector<std::string>& absent = {});

/// What its user should know before it is trained.
std::vector<std::string> training_warnings(const cut_pipeline& pipeline, const layered_graph_ptr& graph);

}  // namespace troupe
