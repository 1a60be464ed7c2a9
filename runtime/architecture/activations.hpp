#pragma once

#include <string>
#include <vector>

#include "runtime/architecture/network.hpp"

namespace troupe {

/// Names that "hidden_act" and its like may have: those of transformers.activations.ACT2FN, but for the ones with
/// weights of their own.
const std::vector<std::string>& activation_names();

/// `name` is one of them.
tensor_value activation(network& net, const std::string& name, tensor_value x);

}  // namespace troupe
