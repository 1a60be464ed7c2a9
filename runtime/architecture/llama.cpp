#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/architecture/activations.hpp"
#include "runtime/architecture/attention.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/rotary.hpp"
#include "runtime/architecture/task_heads.hpp"

namespace troupe {
namespace {

/// Touvron et al., "LLaMA" (arXiv:2302.13971), and models of the same form, with the names and defaults of
/// transformers.
struct llama_kind {
  std::string type;        ///< of the Python classes
  std::string model_type;  ///< in config.json
  std::int64_t vocabulary = 32000;
  std::int64_t inner = 11008;
  std::optional<std::int64_t> key_heads = std::nullopt;  ///< as many as heads where there is no default
};

struct llama_sizes {
  std::int64_t vocabulary = 1;
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t heads = 1;
  std::int64_t key_heads = 1;
  std::int64_t head_size = 2;
  std::int64_t inner = 1;
  double epsilon = 0;
  std::string act;
  bool is_tied = false;
  bool has_query_bias = false;  ///< and of keys and values
  bool has_output_bias = false;
  bool has_inner_bias = false;
  std::vector<std::optional<std::int64_t>> windows = {};  ///< by layer
  at::Tensor frequencies = {};
};

constexpr std::int64_t head_size_max = 65536;

void read_heads(config_reader& config, const llama_kind& kind, llama_sizes& sizes) {
  sizes.heads = config.size("num_attention_heads", 32);
  const bool as_many = !kind.key_heads || config.is_null("num_key_value_heads");
  sizes.key_heads = config.size("num_key_value_heads", as_many ? sizes.heads : *kind.key_heads);
  if (sizes.heads % sizes.key_heads != 0)
    config.refuse("num_key_value_heads", "it does not divide num_attention_heads");
  if (config.has("head_dim")) {
    sizes.head_size = config.size("head_dim");
  } else {
    if (sizes.hidden % sizes.heads != 0) config.refuse("hidden_size", "it is no multiple of num_attention_heads");
    sizes.head_size = sizes.hidden / sizes.heads;
  }
  if (sizes.head_size % 2 != 0 || sizes.head_size > head_size_max) {
    config.refuse("head_dim", std::to_string(sizes.head_size) + " is not even, or above 65536");
    sizes.head_size = 2;
  }
  if (config.product("head_dim", sizes.heads, sizes.head_size) == 1) sizes.heads = sizes.key_heads = 1;
}

/// What "layer_types" says, which only Qwen2 has: whether each layer has the window. The other kinds have it in all
/// layers or in none, and transformers leaves the list unread.
std::vector<bool> read_layer_types(config_reader& config, const llama_kind& kind, bool has_window,
                                   std::vector<bool> otherwise) {
  const std::vector<std::string> types = config.texts("layer_types");
  if (types.empty()) return otherwise;
  if (types.size() != otherwise.size()) {
    config.refuse("layer_types", "it has not one member for each of num_hidden_layers");
    return otherwise;
  }
  std::vector<bool> slides;
  for (const std::string& type : types) {
    slides.push_back(type == "sliding_attention");
    if (!slides.back() && type != "full_attention")
      config.refuse("layer_types", "\"" + type + "\" is neither full_attention nor sliding_attention");
  }
  if (!has_window && slides != std::vector<bool>(slides.size(), false))
    config.refuse("layer_types", "sliding_attention is not supported without a window");
  if (has_window && kind.model_type != "qwen2" && slides != otherwise)
    config.refuse("layer_types", "full_attention is not supported beside sliding_window");
  return slides;
}

void read_windows(config_reader& config, const llama_kind& kind, llama_sizes& sizes) {
  const bool is_qwen = kind.model_type == "qwen2";
  const bool may_slide = is_qwen ? config.flag("use_sliding_window", false) : kind.model_type == "mistral";
  const bool has_window = may_slide && !config.is_null("sliding_window");
  const std::int64_t first = is_qwen ? config.count("max_window_layers", 28) : 0;
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < sizes.layers; ++i) slides.push_back(has_window && i >= first);
  for (const bool each : read_layer_types(config, kind, has_window, std::move(slides))) {
    sizes.windows.push_back(each ? std::optional(config.size("sliding_window", 4096)) : std::nullopt);
  }
}

llama_sizes read_llama_sizes(config_reader& config, const llama_kind& kind) {
  config.choice("model_type", {kind.model_type}, kind.model_type);
  config.refuse_other("is_causal", true);
  config.refuse_other("use_bidirectional_attention", false);
  config.refuse_any("attn_logit_softcapping");
  config.refuse_any("final_logit_softcapping");
  llama_sizes sizes{.vocabulary = config.size("vocab_size", kind.vocabulary),
                    .hidden = config.size("hidden_size", 4096),
                    .layers = config.layers("num_hidden_layers", 32),
                    .inner = config.size("intermediate_size", kind.inner),
                    .epsilon = config.number("rms_norm_eps", 1e-6),
                    .act = config.choice("hidden_act", activation_names(), "silu"),
                    .is_tied = config.flag("tie_word_embeddings", false)};
  read_heads(config, kind, sizes);
  read_windows(config, kind, sizes);
  const bool is_llama = kind.model_type == "llama";
  sizes.has_output_bias = is_llama && config.flag("attention_bias", false);
  sizes.has_query_bias = sizes.has_output_bias || kind.model_type == "qwen2";
  sizes.has_inner_bias = is_llama && config.flag("mlp_bias", false);
  sizes.frequencies = rotary_frequencies(config, sizes.head_size);
  return sizes;
}

/// In float32 but for the weights.
tensor_value llama_norm(network& net, const std::string& name, tensor_value x, const llama_kind& kind,
                        const llama_sizes& sizes) {
  const auto here = net.enter(name, kind.type + "RMSNorm");
  tensor_value const weight = net.parameter("weight", {sizes.hidden});
  const std::vector<std::int64_t> last{sizes.hidden};
  return net.call("mul", {weight, net.call("rms_norm", {x, last, net.none(), sizes.epsilon})});
}

tensor_value llama_attention(network& net, std::int64_t index, tensor_value x, tensor_value mask,
                             const rotary_values& turns, const llama_kind& kind, const llama_sizes& sizes) {
  const auto here = net.enter("self_attn", kind.type + "Attention");
  const auto heads_of = [&](const std::string& name, std::int64_t heads) {
    tensor_value const all = linear(net, name, x, sizes.hidden, heads * sizes.head_size, sizes.has_query_bias);
    return split_heads(net, all, heads, sizes.head_size);
  };
  tensor_value query = heads_of("q_proj", sizes.heads);
  tensor_value key = heads_of("k_proj", sizes.key_heads);
  tensor_value const value = heads_of("v_proj", sizes.key_heads);
  query = rotate(net, query, turns, sizes.head_size);
  key = rotate(net, key, turns, sizes.head_size);
  tensor_value const seen = attend_causal(net, query, key, value, mask,
                                          {.group = sizes.heads / sizes.key_heads, .window = sizes.windows.at(index)});
  return linear(net, "o_proj", join_heads(net, seen), sizes.heads * sizes.head_size, sizes.hidden,
                sizes.has_output_bias);
}

tensor_value llama_layer(network& net, std::int64_t index, tensor_value x, tensor_value mask,
                         const rotary_values& turns, const llama_kind& kind, const llama_sizes& sizes) {
  const auto here = net.enter("layers." + std::to_string(index), kind.type + "DecoderLayer");
  tensor_value y = llama_norm(net, "input_layernorm", x, kind, sizes);
  x = net.call("add", {x, llama_attention(net, index, y, mask, turns, kind, sizes)});
  y = llama_norm(net, "post_attention_layernorm", x, kind, sizes);
  {
    const auto mlp = net.enter("mlp", kind.type + "MLP");
    tensor_value const gate =
        activation(net, sizes.act, linear(net, "gate_proj", y, sizes.hidden, sizes.inner, sizes.has_inner_bias));
    tensor_value const up = linear(net, "up_proj", y, sizes.hidden, sizes.inner, sizes.has_inner_bias);
    y = linear(net, "down_proj", net.call("mul", {gate, up}), sizes.inner, sizes.hidden, sizes.has_inner_bias);
  }
  return net.call("add", {x, y});
}

/// Inputs, embeddings and layers, in the module that is entered.
tensor_value llama_decoder(network& net, const llama_kind& kind, const llama_sizes& sizes) {
  net.weights().ignore("rotary_emb.inv_freq");
  tensor_value const ids = net.ids_input("input_ids", {.count = sizes.vocabulary});
  tensor_value const mask = net.input("attention_mask", c10::IValue());
  tensor_value x = embedding(net, "embed_tokens", ids, sizes.vocabulary, sizes.hidden);
  rotary_values turns;
  {
    const auto here = net.enter("rotary_emb", kind.type + "RotaryEmbedding");
    turns = rotary_embedding(net, x, sizes.frequencies);
  }
  for (std::int64_t i = 0; i < sizes.layers; ++i) x = llama_layer(net, i, x, mask, turns, kind, sizes);
  return llama_norm(net, "norm", x, kind, sizes);
}

void write_llama(network& net, config_reader& config, const llama_kind& kind) {
  const llama_sizes sizes = read_llama_sizes(config, kind);
  net.weights().set_whole("model.");
  net.weights().ignore_module("lm_head.");
  net.output("last_hidden_state", llama_decoder(net, kind, sizes));
}

void write_llama_head(network& net, config_reader& config, const llama_kind& kind) {
  const llama_sizes sizes = read_llama_sizes(config, kind);
  net.weights().set_base("model.");
  tensor_value x = nullptr;
  {
    const auto here = net.enter("model", kind.type + "Model");
    x = llama_decoder(net, kind, sizes);
  }
  std::optional<std::string> tied_to;
  if (sizes.is_tied) tied_to = "model.embed_tokens.weight";
  write_causal_head(net, x, tied_to, sizes.vocabulary, sizes.hidden);
}

}  // namespace

void add_llamas(std::map<std::string, configured_builder>& to) {
  const std::vector<llama_kind> kinds{
      {.type = "Llama", .model_type = "llama"},
      {.type = "Qwen2", .model_type = "qwen2", .vocabulary = 151936, .inner = 22016, .key_heads = 32},
      {.type = "Mistral", .model_type = "mistral", .inner = 14336, .key_heads = 8},
  };
  for (const llama_kind& kind : kinds) {
    to.emplace(kind.type + "Model", [kind](network& net, config_reader& config) { write_llama(net, config, kind); });
    to.emplace(kind.type + "ForCausalLM",
               [kind](network& net, config_reader& config) { write_llama_head(net, config, kind); });
  }
}

}  // namespace troupe
