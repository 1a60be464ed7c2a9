#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/layered_graph.hpp"
#include "runtime/training/trained_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The layers [begin, end) of a model from a file, as it is: no rewrites, which fold weights into each other. Weights
/// that the model's table has as trainable are trained; everything else are constants, which all replicas share. The
/// first training pass looks at each operator, and E0602 names one that has no gradient, with its place in the source.
///
/// A weight that a layer before the part uses as well is a copy (trained_part::is_copy). `absent`: as for
/// inputs_by_name(). E0504: the model has a state of its own, or no weights that are trained.
expected<std::unique_ptr<trained_part>> make_graph_training_part(const layered_graph_ptr& graph, std::size_t begin,
                                                                 std::size_t end,
                                                                 const std::vector<std::string>& absent = {});

}  // namespace troupe
