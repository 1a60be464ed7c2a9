#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/stage_function.hpp>

namespace troupe {

/// One step of a chain: the smallest unit that a stage can begin or end with.
struct layer {
  std::size_t index = 0;
  std::string name;  ///< qualified: "features.0"; "model" for a model without children
  std::string type;  ///< the Python class's own name: "Conv2d"
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t buffer_bytes = 0;
  /// The tracer leaves no code of a module that gives back its input (nn.Identity): such a layer hands its input on.
  bool passes_through = false;
  /// In eval mode. A handle: copies share code and weights.
  torch::jit::Module module;
};

/// "layer 3 (features.0 Conv2d)", as every error and report calls it.
std::string to_string(const layer& l);

/// A model as a sequence of layers, each taking the one tensor that the layer before it gave.
struct layer_chain {
  std::string file;
  std::vector<layer> layers;
};

/// Loads a TorchScript file and finds its layers by the graph of `forward`. A chain is `forward(self, input)` that
/// calls children in sequence, each on the output of the one before, and does nothing else. A child that is called
/// twice is two layers with the same weights. A child whose own forward is such a chain is flattened; any other child
/// is one layer, whatever it computes inside (residual blocks). A model that calls no children at all is one layer.
/// Further arguments of a forward have their default values, or the constants that it is called with. Errors: E0201 to
/// E0207 and E0212 to E0214 the file; E0210 LibTorch cannot load it; E0208 no chain, always, also for a run with one
/// stage: it names the node and says what to do. Any thread.
expected<layer_chain> load_chain(const std::filesystem::path& file, const model_loading& how = {});

/// The layers of a module that is in memory already, which is put into eval mode; `name` stands for the file in errors.
expected<layer_chain> make_chain(const torch::jit::Module& module, std::string name);

/// A whole TorchScript module as a stage, in eval mode; it need not be a chain. Input: one tensor is passed by
/// position, several by the names of forward's arguments. Output: a tensor; a dict of tensors with its names; or a
/// tuple of tensors named by position. A dtype in the context casts the module. Every replica has a clone.
stage_factory torchscript(const torch::jit::Module& module);

/// The same from a file, read once per replica. The factory throws std::runtime_error with the text of load_chain()'s
/// error.
stage_factory torchscript_file(std::filesystem::path file, model_loading how = {});

}  // namespace troupe
