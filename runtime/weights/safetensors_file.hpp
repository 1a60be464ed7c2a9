#pragma once

#include "runtime/weights/reading.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// The tensors of a safetensors file (https://github.com/huggingface/safetensors, format of 0.5), in the order of its
/// header, as views of the mapping. The format is checked as its authors' reader does: the header has at most 100 MiB,
/// the tensors lie behind each other without overlap and hole up to the end of the file, and each has as many bytes as
/// its shape and type say. Errors: E0203, E0210, E0214; E0217 for types below a byte.
expected<state_dict> read_safetensors(weights_reading& reading);

}  // namespace troupe
