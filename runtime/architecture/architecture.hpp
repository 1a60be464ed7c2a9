#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/architecture/weight_reader.hpp"
#include "runtime/graph/operator_graph.hpp"
#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// The names that build_named() takes, ascending: "resnet18", "resnet20-cifar".
std::vector<std::string> named_architectures();

/// A model whose name says all sizes, from published weights: `name` is one of named_architectures(), the names of the
/// tensors are those of the state dict that torchvision, or the source that the architecture's file names, publishes.
/// The number of classes is that of the last layer's weights. `file` stands for the weights in errors.
///
/// Errors: E0219 for a name that is not built in, E0218 for weights that do not fit; with `strict`, also for those that
/// no layer takes.
expected<operator_graph> build_named(const std::string& name, const std::string& file, const state_dict& weights,
                                     bool strict);

/// The same model without values: layers and names, for what has weights by layer. Sizes that the weights would tell
/// are those that the architecture has by default.
expected<operator_graph> structure_of_named(const std::string& name);

/// What a folder of sentence-transformers puts behind its model (modules.json, 1_Pooling/config.json).
struct sentence_embedding {
  /// The first token stands for the sentence ("pooling_mode_cls_token"), and not the mean over the tokens that
  /// attention_mask keeps ("pooling_mode_mean_tokens").
  bool from_first_token = false;
  /// Divided by its Euclidean norm (the module Normalize).
  bool is_normalized = false;
};

/// A model of Hugging Face's transformers, as its config.json describes it: the class is in "architectures".
/// `config_file` stands for the configuration in errors. With `embedding`, the model has the output sentence_embedding
/// beside its last_hidden_state.
///
/// Errors: those of build_named(), E0219 for a configuration that names no class or several, a value that is not
/// supported or an `embedding` of a class without last_hidden_state, and E0210 for a value of another type.
expected<operator_graph> build_configured(const json_part& config, const std::string& file, const state_dict& weights,
                                          bool strict,
                                          const std::optional<sentence_embedding>& embedding = std::nullopt);

}  // namespace troupe
