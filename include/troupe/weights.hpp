#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// A tensor of a state dict.
struct named_tensor {
  std::string name;  ///< "layer1.0.conv1.weight"
  at::Tensor tensor;
};

/// The tensors of a state dict in the order of the file. No two have the same name. Tensors that share memory in the
/// file share storage.
using state_dict = std::vector<named_tensor>;

/// Reads weights without running anything in the file: a state dict as torch.save writes it, in the zip format or the
/// older one; a safetensors file; an index of sharded safetensors (model.safetensors.index.json), or a folder that has
/// one, or a model.safetensors. Which of these it is, is told by the content.
///
/// What a pickled file gives is the dict of tensors, or the one in it under "state_dict", "model_state_dict", "model",
/// "module" or "net", as checkpoints of a training have it; other members are left out. The prefixes "module." and
/// "_orig_mod." that wrappers put before every name are taken off. nn.Parameter counts as its tensor.
///
/// Tensors are views of the mapped file, so that memory is used for those that are read (mapped_file.hpp); those of the
/// older format are copied, as they are not aligned. Reading takes at most twice the file and 64 MiB of memory.
///
/// Errors name the file and the key: E0201 does not exist, E0203 truncated, E0205 the tar format of PyTorch 0.1, E0206
/// a git-lfs pointer, E0207 no weights, with what it is instead, E0210 cannot be read or contradicts itself, E0212 a
/// call of something else than what rebuilds tensors, E0213 checksums (of pickles and packed entries), E0214 beyond
/// limits, E0217 a tensor that is not read, such as a quantized one. Any thread.
///
/// `locate` says where a file is that belongs to the weights, for a program that keeps copies; each is named as it
/// stands in the folder.
using file_locator = std::function<std::filesystem::path(const std::filesystem::path& file)>;
expected<state_dict> load_weights(const std::filesystem::path& file, const file_locator& locate = {});
/// The files that load_weights() reads, as far as they are there.
std::vector<std::filesystem::path> files_of_weights(const std::filesystem::path& file, const file_locator& locate = {});

enum class weights_format {
  safetensors,  ///< one safetensors file; tensors that share memory are written each for itself
  torch_zip,    ///< what torch.load(weights_only=True) reads, a dict; tensors that share memory go on sharing it
};

/// Writes a state dict that load_weights(), PyTorch and safetensors read: the whole file or nothing, under another name
/// in the same folder, which must be there, and renamed. Tensors are dense, on any device, and in any strides. Errors:
/// E0611 the file cannot be written; E0217, which names the tensor: one that is not dense, of a type that the format
/// does not have, or of a name that another one has. Any thread; nothing may write to the tensors meanwhile.
expected<void> save_weights(const std::filesystem::path& file, const state_dict& dict,
                            weights_format format = weights_format::safetensors);

/// A model whose weights are in a file of their own (docs/weights.md). Its operators come from an architecture that is
/// built in, from the file of a model, whose own weights are replaced, or, with neither, from the config.json in the
/// folder `weights`, as Hugging Face's transformers write it.
struct model_with_weights {
  std::string arch = {};   ///< "resnet20-cifar"
  std::string model = {};  ///< a file of TorchScript or torch.export
  /// A file or folder for load_weights(); or the folder of a checkpoint of a pipeline, whose layers are those of the
  /// model between modules (docs/weights.md).
  std::string weights;
  /// Of a checkpoint; empty: the one that the file `latest` names.
  std::string tag = {};
  /// Takes weights with tensors that no layer needs. Those of a `model` that the file lacks then stay as they are.
  /// Without it both are E0218.
  bool not_strict = false;
};

struct client_value;
/// What a program keeps in a checkpoint beside the weights: DeepSpeed's client_state.
using client_state = std::map<std::string, client_value>;

/// A value in a client_state: nothing (None), a truth value, a number, a text, a tensor, a list or a dict of such
/// values. In Python it is a value of the builtin type, or a tensor on the CPU.
struct client_value {
  using list = std::vector<client_value>;
  using alternatives =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, at::Tensor, list, client_state>;

  client_value() = default;
  client_value(bool given) : value(given) {}
  client_value(int given) : value(std::int64_t{given}) {}
  client_value(std::int64_t given) : value(given) {}
  client_value(double given) : value(given) {}
  client_value(const char* given) : value(std::string(given)) {}
  client_value(std::string given) : value(std::move(given)) {}
  client_value(at::Tensor given) : value(std::move(given)) {}
  client_value(list given) : value(std::move(given)) {}
  client_value(client_state given) : value(std::move(given)) {}

  alternatives value;
};

/// What a load of a checkpoint gives beside the weights.
struct loaded_checkpoint {
  std::string tag;
  troupe::client_state client_state;
  /// Members of the file that are no data, such as an argparse.Namespace, and were left out, by name.
  std::vector<std::string> left_out;
};

}  // namespace troupe
