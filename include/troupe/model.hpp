#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/stage_function.hpp>
#include <troupe/weights.hpp>

namespace troupe {

struct operator_graph;

/// A model as a graph of operators, which can be cut into stages. A handle: copies share the model. Threads: any.
class model {
 public:
  explicit model(std::shared_ptr<const operator_graph> graph) : graph_(std::move(graph)) {}

  /// The file, or what stands for it in errors.
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const operator_graph& graph() const noexcept { return *graph_; }

 private:
  std::shared_ptr<const operator_graph> graph_;
};

/// Loads a TorchScript file (.pt) or an archive of torch.export (.pt2). forward takes tensors, by the names of its
/// arguments, and gives a tensor, or tuples, lists and dicts of tensors. Errors: E0201 to E0207 and E0212 to E0214 the
/// file; E0210 LibTorch cannot load it; E0208 a forward of another form; E0217 a part that is not supported. A folder
/// with a config.json is a model_with_weights. Threads: any.
expected<model> load_model(const std::filesystem::path& file, const model_loading& how = {});
/// Loads a model and the weights for it. Errors: those of load_model() and load_weights(); E0218 the weights do not
/// fit, E0219 the architecture is not known. Threads: any.
expected<model> load_model(const model_with_weights& what, const model_loading& how = {},
                           const file_locator& locate = {});

/// The model of a module that is in memory already, which is put into eval mode; `name` stands for the file in errors.
expected<model> make_model(const torch::jit::Module& module, std::string name);

/// A whole TorchScript module as a stage, in eval mode. Input: one tensor is passed by position, several by the names
/// of forward's arguments. Output: a tensor; a dict of tensors with its names; or a tuple of tensors named by position.
/// A dtype in the context casts the module. Every replica has a clone.
stage_factory torchscript(const torch::jit::Module& module);

/// The same from a file, read once per replica. The factory throws std::runtime_error with the text of load_model()'s
/// error.
stage_factory torchscript_file(std::filesystem::path file, model_loading how = {});

}  // namespace troupe
