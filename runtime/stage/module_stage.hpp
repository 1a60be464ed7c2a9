#pragma once

#include <filesystem>

#include <torch/csrc/jit/api/module.h>

#include "messages/error.hpp"
#include "runtime/model/model_loading.hpp"
#include "runtime/stage/stage_function.hpp"

namespace troupe {

/// A whole TorchScript module as a stage, in eval mode; it need not be a chain. Input: one tensor is passed by
/// position, several by the names of forward's arguments. Output: a tensor; a dict of tensors with its names; or a
/// tuple of tensors named by position. A dtype in the context casts the module. Every replica has a clone.
stage_factory torchscript(const torch::jit::Module& module);

/// The same from a file, read once per replica. The factory throws std::runtime_error in the words of check_model_file.
stage_factory torchscript_file(std::filesystem::path file, model_loading how = {});

}  // namespace troupe
