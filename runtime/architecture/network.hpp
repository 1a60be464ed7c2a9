#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/architecture/weight_reader.hpp"
#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// A value of a model that is being written.
using tensor_value = torch::jit::Value*;

/// Writes a model as C++ code, in the words of PyTorch:
///
///     network net("resnet.pt", "ResNet", weights);
///     tensor_value x = net.input("x");
///     {
///       const auto here = net.enter("conv1", "Conv2d");
///       x = net.call("conv2d", {x, net.parameter("weight", {64, 3, 7, 7}), net.none(), pair(2), pair(3)});
///     }
///     net.output("", x);
///
/// Functions for the modules of torch.nn are in modules.hpp. A mistake in such code (no operator takes these arguments)
/// throws what LibTorch throws; mistakes in the weights are values (weight_reader::finish()).
class network {
 public:
  /// `type` is the name of the model's class. The weights must outlive it.
  network(std::string file, const std::string& type, weight_reader& weights);

  /// An argument of the model, in order; with `otherwise`, what it is where no data of this name is given.
  tensor_value input(std::string name, std::optional<c10::IValue> otherwise = std::nullopt);
  /// An argument [N, S] of ids. Those outside of the limits are refused before the model runs.
  tensor_value ids_input(std::string name, const id_limits& limits,
                         std::optional<c10::IValue> otherwise = std::nullopt);
  /// A result: the empty name for the only one.
  void output(std::string name, tensor_value value);
  /// Those of this name that there are so far; null if there is none.
  [[nodiscard]] tensor_value find_input(const std::string& name) const;
  [[nodiscard]] tensor_value find_output(const std::string& name) const;

  /// While this lives, operators and weights belong to a submodule.
  class inside {
   public:
    inside(network& net, const std::string& name, const std::string& type);
    ~inside();
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

   private:
    network& net_;
    std::string path_;
    torch::jit::ScopePtr scope_;
  };
  /// `name` is the attribute in Python, "layer.0" for a member of a ModuleList.
  [[nodiscard]] inside enter(const std::string& name, const std::string& type) { return {*this, name, type}; }

  /// A weight of the module that is entered, by the name of its attribute.
  tensor_value parameter(const std::string& name, at::IntArrayRef sizes);
  tensor_value buffer(const std::string& name, at::IntArrayRef sizes);
  /// A weight that two modules share: read by its whole name in the other module, and known by the name of the
  /// attribute here, too.
  tensor_value shared_parameter(const std::string& name, const std::string& whole_name, at::IntArrayRef sizes);
  /// A tensor, number, list of numbers or None that is part of the code.
  tensor_value constant(const c10::IValue& value);
  tensor_value none() { return constant(c10::IValue()); }

  /// An operator of the namespace aten that has one result: "conv2d". Arguments by position, then by name; the others
  /// have their defaults. The overload is found by the types of the arguments, as in Python.
  tensor_value call(const std::string& name, const std::vector<torch::jit::NamedValue>& arguments,
                    const std::vector<torch::jit::NamedValue>& by_name = {});
  /// A list of tensors, or of sizes.
  tensor_value list(const std::vector<tensor_value>& values);
  /// For an input that is None otherwise: what `given` makes of the tensor, or what `absent` makes. bind_inputs()
  /// decides. The functions take no weights: those of one branch would not be known behind it.
  tensor_value if_given(tensor_value input, const std::function<tensor_value(tensor_value)>& given,
                        const std::function<tensor_value()>& absent);

  [[nodiscard]] weight_reader& weights() noexcept { return weights_; }
  /// "encoder.layer.0.attention", of the module that is entered.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// The whole model. Afterwards there is nothing left here.
  operator_graph finish();

 private:
  tensor_value weight(const std::string& whole_name, at::IntArrayRef sizes, weight_kind kind);
  [[nodiscard]] std::string whole(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  operator_graph made_;
  weight_reader& weights_;
  torch::jit::ScopePtr scope_;
  std::string path_;
  std::unordered_map<std::string, tensor_value> known_;
};

}  // namespace troupe
