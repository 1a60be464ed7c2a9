#include <cstdint>
#include <string>

#include "runtime/architecture/activations.hpp"
#include "runtime/architecture/attention.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/patch_tokens.hpp"

namespace troupe {
namespace {

/// ViTConfig of transformers.
struct vit_sizes {
  std::int64_t channels = 3;
  std::int64_t side = 224;
  std::int64_t patch = 16;
  /// Patches, and the token for the class.
  std::int64_t tokens = 1;
  std::int64_t hidden = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t inner = 3072;
  double epsilon = 1e-12;
  bool has_bias = true;
  std::string act = "gelu";
};

vit_sizes read_vit_sizes(config_reader& config) {
  config.choice("model_type", {"vit"}, "vit");
  config.refuse_any("pruned_heads");
  vit_sizes sizes{.channels = config.size("num_channels", 3),
                  .side = config.side("image_size", 224),
                  .patch = config.side("patch_size", 16),
                  .hidden = config.size("hidden_size", 768),
                  .layers = config.layers("num_hidden_layers", 12),
                  .heads = config.size("num_attention_heads", 12),
                  .inner = config.size("intermediate_size", 3072),
                  .epsilon = config.number("layer_norm_eps", 1e-12),
                  .has_bias = config.flag("qkv_bias", true),
                  .act = config.choice("hidden_act", activation_names(), "gelu")};
  const std::int64_t patches = sizes.side / sizes.patch;
  if (patches == 0) config.refuse("image_size", "it is less than patch_size");
  sizes.tokens = config.product("image_size", patches, patches) + 1;
  if (sizes.hidden % sizes.heads != 0) config.refuse("hidden_size", "it is no multiple of num_attention_heads");
  return sizes;
}

tensor_value vit_embeddings(network& net, tensor_value pixels, const vit_sizes& sizes) {
  const auto here = net.enter("embeddings", "ViTEmbeddings");
  net.weights().ignore(net.path() + ".mask_token");
  tensor_value x = nullptr;
  {
    const auto patches = net.enter("patch_embeddings", "ViTPatchEmbeddings");
    x = patch_tokens(net, "projection", pixels, {sizes.channels, sizes.side, sizes.patch, sizes.hidden});
  }
  x = behind_token(net, net.parameter("cls_token", {1, 1, sizes.hidden}), x);
  return net.call("add", {x, net.parameter("position_embeddings", {1, sizes.tokens, sizes.hidden})});
}

tensor_value vit_attention(network& net, tensor_value x, const vit_sizes& sizes) {
  const auto here = net.enter("attention", "ViTAttention");
  tensor_value seen = nullptr;
  {
    const auto self = net.enter("attention", "ViTSelfAttention");
    const auto heads_of = [&](const std::string& name) {
      return split_heads(net, linear(net, name, x, sizes.hidden, sizes.hidden, sizes.has_bias), sizes.heads,
                         sizes.hidden / sizes.heads);
    };
    tensor_value const query = heads_of("query");
    tensor_value const key = heads_of("key");
    seen = join_heads(net, net.call("scaled_dot_product_attention", {query, key, heads_of("value")}));
  }
  const auto output = net.enter("output", "ViTSelfOutput");
  return linear(net, "dense", seen, sizes.hidden, sizes.hidden);
}

tensor_value vit_layer(network& net, std::int64_t index, tensor_value x, const vit_sizes& sizes) {
  const auto here = net.enter("layer." + std::to_string(index), "ViTLayer");
  tensor_value const before = layer_norm(net, "layernorm_before", x, sizes.hidden, sizes.epsilon);
  x = net.call("add", {vit_attention(net, before, sizes), x});
  tensor_value wide = layer_norm(net, "layernorm_after", x, sizes.hidden, sizes.epsilon);
  {
    const auto intermediate = net.enter("intermediate", "ViTIntermediate");
    wide = activation(net, sizes.act, linear(net, "dense", wide, sizes.hidden, sizes.inner));
  }
  const auto output = net.enter("output", "ViTOutput");
  return net.call("add", {linear(net, "dense", wide, sizes.inner, sizes.hidden), x});
}

void write_vit(network& net, config_reader& config) {
  const vit_sizes sizes = read_vit_sizes(config);
  net.weights().ignore_module("vit.pooler.");
  tensor_value x = net.input("pixel_values");
  {
    const auto here = net.enter("vit", "ViTModel");
    x = vit_embeddings(net, x, sizes);
    {
      const auto encoder = net.enter("encoder", "ViTEncoder");
      for (std::int64_t i = 0; i < sizes.layers; ++i) x = vit_layer(net, i, x, sizes);
    }
    x = layer_norm(net, "layernorm", x, sizes.hidden, sizes.epsilon);
  }
  x = net.call("select", {x, 1, 0});
  net.output("logits", linear(net, "classifier", x, sizes.hidden, classes_of(net, "classifier", 2)));
}

}  // namespace

void add_vit(std::map<std::string, configured_builder>& to) {
  to.emplace("ViTForImageClassification", write_vit);
}

}  // namespace troupe
