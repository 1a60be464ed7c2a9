#pragma once

#include "runtime/architecture/architecture.hpp"
#include "runtime/architecture/network.hpp"

namespace troupe {

/// Adds the output sentence_embedding, [N, hidden], to a model that has the output last_hidden_state. False if it has
/// none.
bool write_sentence_embedding(network& net, const sentence_embedding& kind);

}  // namespace troupe
