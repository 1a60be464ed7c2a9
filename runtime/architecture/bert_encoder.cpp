#include "runtime/architecture/bert_encoder.hpp"

#include "runtime/architecture/activations.hpp"
#include "runtime/architecture/attention.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/mpnet.hpp"

namespace troupe {
namespace {

struct encoder_inputs {
  tensor_value ids = nullptr;
  tensor_value mask = nullptr;       ///< optional
  tensor_value types = nullptr;      ///< optional; not for MPNet
  tensor_value scores = nullptr;     ///< of the mask
  tensor_value distances = nullptr;  ///< for MPNet
};

/// [S, hidden] or [N, S, hidden].
tensor_value position_embeddings(network& net, tensor_value ids, const bert_kind& kind, const bert_sizes& sizes) {
  if (!kind.is_roberta) return first_rows(net, "position_embeddings", ids, sizes.positions, sizes.hidden);
  tensor_value const is_token = net.call("ne", {ids, sizes.padding});
  tensor_value const count = net.call("mul", {net.call("cumsum", {is_token, 1}), is_token});
  return embedding(net, "position_embeddings", net.call("add", {count, sizes.padding}), sizes.positions, sizes.hidden);
}

id_limits limits_of_ids(const bert_kind& kind, const bert_sizes& sizes) {
  if (!kind.is_roberta) return {.count = sizes.vocabulary, .longest = sizes.positions};
  // positions count from behind that of padding, as above
  return {.count = sizes.vocabulary, .longest = sizes.positions - sizes.padding - 1, .padding = sizes.padding};
}

/// [hidden] or [N, S, hidden].
tensor_value type_embeddings(network& net, tensor_value token_types, const bert_sizes& sizes) {
  const auto here = net.enter("token_type_embeddings", "Embedding");
  tensor_value const table = net.parameter("weight", {sizes.types, sizes.hidden});
  return net.if_given(
      token_types,
      [&](tensor_value types) {
        return net.call("embedding", {table, types});
      },
      [&] {
        return net.call("select", {table, 0, 0});
      });
}

tensor_value bert_embeddings(network& net, encoder_inputs& inputs, const bert_kind& kind, const bert_sizes& sizes) {
  const auto here = net.enter("embeddings", kind.type + "Embeddings");
  net.weights().ignore("embeddings.position_ids");
  tensor_value x = embedding(net, "word_embeddings", inputs.ids, sizes.vocabulary, sizes.hidden);
  if (!kind.is_mpnet) x = net.call("add", {x, type_embeddings(net, inputs.types, sizes)});
  x = net.call("add", {x, position_embeddings(net, inputs.ids, kind, sizes)});
  x = layer_norm(net, "LayerNorm", x, sizes.hidden, sizes.epsilon);
  inputs.scores = mask_scores(net, inputs.mask, x);
  return x;
}

/// The three projections, which MPNet names otherwise, and what the heads see.
tensor_value bert_self_attention(network& net, tensor_value x, const encoder_inputs& inputs, const bert_kind& kind,
                                 const bert_sizes& sizes) {
  const auto heads_of = [&](const char* name, const char* in_mpnet) {
    tensor_value const all = linear(net, kind.is_mpnet ? in_mpnet : name, x, sizes.hidden, sizes.hidden);
    return split_heads(net, all, sizes.heads, sizes.hidden / sizes.heads);
  };
  tensor_value const query = heads_of("query", "q");
  tensor_value const key = heads_of("key", "k");
  tensor_value const value = heads_of("value", "v");
  if (!kind.is_mpnet) return join_heads(net, attend_masked(net, query, key, value, inputs.mask, inputs.scores));
  tensor_value const by_distance = mpnet_scores(net, x, inputs.distances);
  tensor_value const scores = net.if_given(
      inputs.mask,
      [&](tensor_value) {
        return net.call("add", {by_distance, inputs.scores});
      },
      [&] { return by_distance; });
  return join_heads(net, net.call("scaled_dot_product_attention", {query, key, value, scores}));
}

tensor_value bert_attention(network& net, tensor_value x, const encoder_inputs& inputs, const bert_kind& kind,
                            const bert_sizes& sizes) {
  const auto here = net.enter("attention", kind.type + "Attention");
  tensor_value y = nullptr;
  {
    const auto self = net.enter(kind.is_mpnet ? "attn" : "self", kind.type + "SelfAttention");
    y = bert_self_attention(net, x, inputs, kind, sizes);
    if (kind.is_mpnet) y = linear(net, "o", y, sizes.hidden, sizes.hidden);
  }
  if (kind.is_mpnet) return layer_norm(net, "LayerNorm", net.call("add", {y, x}), sizes.hidden, sizes.epsilon);
  const auto output = net.enter("output", kind.type + "SelfOutput");
  y = linear(net, "dense", y, sizes.hidden, sizes.hidden);
  return layer_norm(net, "LayerNorm", net.call("add", {y, x}), sizes.hidden, sizes.epsilon);
}

tensor_value bert_layer(network& net, std::int64_t index, tensor_value x, const encoder_inputs& inputs,
                        const bert_kind& kind, const bert_sizes& sizes) {
  const auto here = net.enter("layer." + std::to_string(index), kind.type + "Layer");
  x = bert_attention(net, x, inputs, kind, sizes);
  tensor_value wide = nullptr;
  {
    const auto intermediate = net.enter("intermediate", kind.type + "Intermediate");
    wide = activation(net, sizes.act, linear(net, "dense", x, sizes.hidden, sizes.inner));
  }
  const auto output = net.enter("output", kind.type + "Output");
  tensor_value const added = net.call("add", {linear(net, "dense", wide, sizes.inner, sizes.hidden), x});
  return layer_norm(net, "LayerNorm", added, sizes.hidden, sizes.epsilon);
}

}  // namespace

bert_sizes read_bert_sizes(config_reader& config, const bert_kind& kind) {
  config.choice("model_type", {kind.model_type}, kind.model_type);
  config.choice("position_embedding_type", {"absolute"}, "absolute");
  config.refuse_other("is_decoder", false);
  config.refuse_other("add_cross_attention", false);
  config.refuse_any("pruned_heads");
  bert_sizes sizes{.vocabulary = config.size("vocab_size", kind.vocabulary),
                   .hidden = config.size("hidden_size", 768),
                   .layers = config.layers("num_hidden_layers", 12),
                   .heads = config.size("num_attention_heads", 12),
                   .inner = config.size("intermediate_size", 3072),
                   .positions = config.size("max_position_embeddings", 512),
                   .types = config.size("type_vocab_size", 2),
                   .padding = kind.is_mpnet ? 1 : config.count("pad_token_id", kind.is_roberta ? 1 : 0),
                   .buckets = kind.is_mpnet ? config.size("relative_attention_num_buckets", 32) : 1,
                   .epsilon = config.number("layer_norm_eps", 1e-12),
                   .act = config.choice("hidden_act", activation_names(), "gelu"),
                   .is_tied = config.flag("tie_word_embeddings", true)};
  if (sizes.hidden % sizes.heads != 0) config.refuse("hidden_size", "it is no multiple of num_attention_heads");
  return sizes;
}

tensor_value bert_encoder(network& net, const bert_kind& kind, const bert_sizes& sizes) {
  net.weights().rename_ends("LayerNorm.gamma", "LayerNorm.weight");
  net.weights().rename_ends("LayerNorm.beta", "LayerNorm.bias");
  encoder_inputs inputs{.ids = net.ids_input("input_ids", limits_of_ids(kind, sizes)),
                        .mask = net.input("attention_mask", c10::IValue())};
  if (!kind.is_mpnet) inputs.types = net.ids_input("token_type_ids", {.count = sizes.types}, c10::IValue());
  tensor_value x = bert_embeddings(net, inputs, kind, sizes);
  const auto here = net.enter("encoder", kind.type + "Encoder");
  if (kind.is_mpnet) inputs.distances = mpnet_distances(net, sizes.buckets, sizes.heads);
  for (std::int64_t i = 0; i < sizes.layers; ++i) x = bert_layer(net, i, x, inputs, kind, sizes);
  return x;
}

}  // namespace troupe
