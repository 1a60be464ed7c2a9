#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/architecture/network.hpp"

namespace troupe {

/// What several families of transformers have behind their last layer.

/// The number of labels that the weights of the last layer have, or 2, the default of a configuration.
std::int64_t labels_of(network& net, const std::string& layer);

/// "qa_outputs", and the outputs start_logits and end_logits of [N, S] each. `x` is [N, S, hidden].
void write_answer(network& net, tensor_value x, std::int64_t hidden);

/// The weights of a projection to the vocabulary, in the module that is entered: its own, or the ones of the
/// embeddings, which `tied_to` names; those of the file are ignored then.
tensor_value vocabulary_weight(network& net, const std::optional<std::string>& tied_to, std::int64_t vocabulary,
                               std::int64_t hidden);

/// A projection to the vocabulary without bias, and the output "logits".
void write_causal_head(network& net, tensor_value x, const std::optional<std::string>& tied_to, std::int64_t vocabulary,
                       std::int64_t hidden);

}  // namespace troupe
