#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/architecture/activations.hpp"
#include "runtime/architecture/attention.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/task_heads.hpp"

namespace troupe {
namespace {

/// Radford et al., "Language Models are Unsupervised Multitask Learners" (GPT-2), with the names of transformers.
struct gpt2_sizes {
  std::int64_t vocabulary = 1;
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t heads = 1;
  std::int64_t inner = 1;
  std::int64_t positions = 1;
  double epsilon = 0;
  std::string act;
  bool is_tied = true;
  bool scales_by_size = true;
  bool scales_by_layer = false;
};

gpt2_sizes read_gpt2_sizes(config_reader& config) {
  config.choice("model_type", {"gpt2"}, "gpt2");
  config.refuse_other("add_cross_attention", false);
  config.refuse_any("pruned_heads");
  const std::int64_t hidden = config.size(config.either("n_embd", "hidden_size"), 768);
  gpt2_sizes sizes{.vocabulary = config.size("vocab_size", 50257),
                   .hidden = hidden,
                   .layers = config.layers(config.either("n_layer", "num_hidden_layers"), 12),
                   .heads = config.size(config.either("n_head", "num_attention_heads"), 12),
                   .inner = config.size("n_inner", config.product("n_embd", hidden, 4)),
                   .positions = config.size(config.either("n_positions", "max_position_embeddings"), 1024),
                   .epsilon = config.number("layer_norm_epsilon", 1e-5),
                   .act = config.choice("activation_function", activation_names(), "gelu_new"),
                   .is_tied = config.flag("tie_word_embeddings", true),
                   .scales_by_size = config.flag("scale_attn_weights", true),
                   .scales_by_layer = config.flag("scale_attn_by_inverse_layer_idx", false)};
  if (sizes.hidden % sizes.heads != 0) config.refuse("n_embd", "it is no multiple of n_head");
  return sizes;
}

/// transformers' Conv1D, a linear layer whose weights are [in, out].
tensor_value conv1d(network& net, const std::string& name, tensor_value x, std::int64_t in, std::int64_t out) {
  const auto here = net.enter(name, "Conv1D");
  tensor_value const weight = net.call("t", {net.parameter("weight", {in, out})});
  return net.call("linear", {x, weight, net.parameter("bias", {out})});
}

tensor_value gpt2_attention(network& net, std::int64_t index, tensor_value x, tensor_value mask,
                            const gpt2_sizes& sizes) {
  const auto here = net.enter("attn", "GPT2Attention");
  tensor_value const all = conv1d(net, "c_attn", x, sizes.hidden, 3 * sizes.hidden);
  const std::int64_t size = sizes.hidden / sizes.heads;
  const auto heads_of = [&](std::int64_t which) {
    return split_heads(net, net.call("narrow", {all, 2, which * sizes.hidden, sizes.hidden}), sizes.heads, size);
  };
  const double by_size = sizes.scales_by_size ? 1 / std::sqrt(static_cast<double>(size)) : 1.0;
  const double by_layer = sizes.scales_by_layer ? 1 / static_cast<double>(index + 1) : 1.0;
  tensor_value const query = heads_of(0);
  tensor_value const key = heads_of(1);
  tensor_value const seen = attend_causal(net, query, key, heads_of(2), mask, {.scale = by_size * by_layer});
  return conv1d(net, "c_proj", join_heads(net, seen), sizes.hidden, sizes.hidden);
}

tensor_value gpt2_block(network& net, std::int64_t index, tensor_value x, tensor_value mask, const gpt2_sizes& sizes) {
  const auto here = net.enter("h." + std::to_string(index), "GPT2Block");
  tensor_value y = layer_norm(net, "ln_1", x, sizes.hidden, sizes.epsilon);
  x = net.call("add", {gpt2_attention(net, index, y, mask, sizes), x});
  y = layer_norm(net, "ln_2", x, sizes.hidden, sizes.epsilon);
  const auto mlp = net.enter("mlp", "GPT2MLP");
  y = activation(net, sizes.act, conv1d(net, "c_fc", y, sizes.hidden, sizes.inner));
  y = conv1d(net, "c_proj", y, sizes.inner, sizes.hidden);
  return net.call("add", {x, y});
}

/// Inputs, embeddings and layers, in the module that is entered.
tensor_value gpt2_decoder(network& net, const gpt2_sizes& sizes) {
  net.weights().ignore(".attn.bias");  // buffers of old files: the causal mask and its value
  net.weights().ignore(".attn.masked_bias");
  tensor_value const ids = net.ids_input("input_ids", {.count = sizes.vocabulary, .longest = sizes.positions});
  tensor_value const mask = net.input("attention_mask", c10::IValue());
  tensor_value x = embedding(net, "wte", ids, sizes.vocabulary, sizes.hidden);
  x = net.call("add", {x, first_rows(net, "wpe", ids, sizes.positions, sizes.hidden)});
  for (std::int64_t i = 0; i < sizes.layers; ++i) x = gpt2_block(net, i, x, mask, sizes);
  return layer_norm(net, "ln_f", x, sizes.hidden, sizes.epsilon);
}

void write_gpt2(network& net, config_reader& config) {
  const gpt2_sizes sizes = read_gpt2_sizes(config);
  net.weights().set_whole("transformer.");
  net.weights().ignore_module("lm_head.");
  net.output("last_hidden_state", gpt2_decoder(net, sizes));
}

void write_gpt2_head(network& net, config_reader& config) {
  const gpt2_sizes sizes = read_gpt2_sizes(config);
  net.weights().set_base("transformer.");
  tensor_value x = nullptr;
  {
    const auto here = net.enter("transformer", "GPT2Model");
    x = gpt2_decoder(net, sizes);
  }
  std::optional<std::string> tied_to;
  if (sizes.is_tied) tied_to = "transformer.wte.weight";
  write_causal_head(net, x, tied_to, sizes.vocabulary, sizes.hidden);
}

}  // namespace

void add_gpt2(std::map<std::string, configured_builder>& to) {
  to.emplace("GPT2Model", write_gpt2);
  to.emplace("GPT2LMHeadModel", write_gpt2_head);
}

}  // namespace troupe
