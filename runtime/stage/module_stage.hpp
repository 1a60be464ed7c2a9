#pragma once

#include <filesystem>

#include <torch/csrc/jit/api/module.h>

#include "messages/error.hpp"
#include "runtime/model/model_loading.hpp"
#include "runtime/stage/stage_function.hpp"

namespace troupe {

/// A whole TorchScript module as a stage, run as it is, in eval mode; it need not be a chain. One tensor goes in by
/// position, several by the names of forward's arguments. Comes out: a tensor; a dict of tensors, under its names; or a
/// tuple of tensors, called by their positions. With a dtype in the context the module is cast to it. Every replica
/// gets a clone.
stage_factory torchscript(const torch::jit::Module& module);

/// The same from a file, read once per replica. The factory throws std::runtime_error in the words of check_model_file.
stage_factory torchscript_file(std::filesystem::path file, model_loading how = {});

}  // namespace troupe
