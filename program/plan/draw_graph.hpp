#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/plan/model_drawing.hpp"
#include "runtime/graph/layered_graph.hpp"

namespace troupe {

/// Draws a model. `inputs` is empty, or has a tensor for each input: they pass the layers on the calling thread, and
/// shapes and bytes are theirs, as they come, whether of a sample or of a micro-batch; `data` says where they are from.
/// Throws what LibTorch throws.
drawn_model draw(const layered_graph& model, std::vector<at::Tensor> inputs = {}, std::string data = {});

}  // namespace troupe
