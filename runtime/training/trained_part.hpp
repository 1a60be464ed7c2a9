#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/payload.hpp"
#include "runtime/optimizer/tied_parameter.hpp"
#include <troupe/error.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// Layers of a model that one stage replica trains, with weights of its own. Threads: one at a time.
class trained_part {
 public:
  trained_part() = default;
  trained_part(const trained_part&) = delete;
  trained_part& operator=(const trained_part&) = delete;
  virtual ~trained_part() = default;

  // The handles of all that a checkpoint has of the part, in a fixed order, each tensor once, by the names of the
  // model's state dict ("INDEX.NAME" for layers in code). The body gives parameters other memory (set_data) and writes
  // buffers and frozen parameters.

  /// The weights that are trained: floating-point leaves with requires_grad.
  [[nodiscard]] const named_tensors& parameters() const noexcept { return parameters_; }
  /// The other tensors of the state dict: parameters without requires_grad, and buffers such as the running statistics
  /// of a batch normalisation.
  [[nodiscard]] const named_tensors& buffers() const noexcept { return buffers_; }
  /// What training leaves alone and all replicas share, as the buffers of a model from a file.
  [[nodiscard]] const named_tensors& constants() const noexcept { return constants_; }

  /// The parameters that several layers use.
  [[nodiscard]] const std::vector<tied_parameter>& ties() const noexcept { return ties_; }
  /// The tensor of this name is a copy: a part before this one has its first place, and saves it.
  [[nodiscard]] bool is_copy(const std::string& name) const { return copies_.contains(name); }

  /// Layers of the whole model, and which of them are in the part: [begin, end).
  struct layer_range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t of = 0;
  };
  [[nodiscard]] const layer_range& layers() const noexcept { return layers_; }
  [[nodiscard]] bool is_first() const noexcept { return layers_.begin == 0; }
  [[nodiscard]] bool is_last() const noexcept { return layers_.end == layers_.of; }
  /// "layer 3 (Linear)"
  [[nodiscard]] virtual std::string name_of(std::size_t layer) const = 0;

  /// The tensors that the first layer of the part takes, from those that came.
  [[nodiscard]] virtual expected<std::vector<at::Tensor>> inputs_of(const payload_ptr& given,
                                                                    const std::string& where) const = 0;
  /// By input of the layer, whether a gradient flows through it where its type has one. Inputs of the model have none.
  [[nodiscard]] virtual std::vector<bool> gradients_of(std::size_t layer, std::size_t inputs) const {
    return std::vector<bool>(inputs, layer > 0);
  }
  /// Of the tensors that the last layer gives; empty where they have none.
  [[nodiscard]] virtual std::vector<std::string> output_names() const = 0;

  /// Training or evaluation; cheap where nothing changes.
  virtual void set_training(bool on) = 0;
  /// Computes one layer of the whole model; its inputs are the outputs of the one before. Records for autograd where
  /// that is on. Does not write to its inputs where `is_shared`. Throws what LibTorch and users' code throw.
  [[nodiscard]] virtual std::vector<at::Tensor> run(std::size_t layer, std::vector<at::Tensor> inputs,
                                                    bool is_shared) = 0;

 protected:
  named_tensors parameters_;
  named_tensors buffers_;
  named_tensors constants_;
  std::vector<tied_parameter> ties_;
  std::set<std::string> copies_;
  layer_range layers_;
};

}  // namespace troupe
