#pragma once

#include <cstdint>
#include <optional>

#include "runtime/architecture/network.hpp"

namespace troupe {

/// Attention of several heads, with the masks of transformers, where `attention_mask` [N, S] is an optional input of
/// the model. Values of the weights' type.

/// [N, S, heads * size] to [N, heads, S, size].
tensor_value split_heads(network& net, tensor_value x, std::int64_t heads, std::int64_t size);
/// [N, heads, S, size] to [N, S, heads * size].
tensor_value join_heads(network& net, tensor_value x);

/// The summand for the scores of an encoder: 0 for tokens whose mask is 1, and the lowest number of the type of `like`
/// for others, [N, 1, 1, S]. Where no token has 1, all have the same weight therefore. Only for attend_masked().
tensor_value mask_scores(network& net, tensor_value attention_mask, tensor_value like);
/// Each token sees all tokens whose mask is 1, or all if no mask is given.
tensor_value attend_masked(network& net, tensor_value query, tensor_value key, tensor_value value,
                           tensor_value attention_mask, tensor_value scores);

struct causal_attention {
  /// Heads of queries for each head of keys and values.
  std::int64_t group = 1;
  /// A token sees this many tokens at most, itself included.
  std::optional<std::int64_t> window = std::nullopt;
  /// What the scores are multiplied by; nothing for 1 / sqrt(size).
  std::optional<double> scale = std::nullopt;
};
/// Each token sees itself and the ones before it, but for those whose mask is 0. A token that sees none becomes 0.
tensor_value attend_causal(network& net, tensor_value query, tensor_value key, tensor_value value,
                           tensor_value attention_mask, const causal_attention& kind);

}  // namespace troupe
