#include <cmath>
#include <cstdint>
#include <string>

#include "runtime/architecture/attention.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/patch_tokens.hpp"

namespace troupe {
namespace {

/// The names and the sizes are those of torchvision.models.vision_transformer.
struct vision_sizes {
  std::int64_t patch = 16;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t hidden = 768;
  std::int64_t inner = 3072;
};

constexpr double vision_epsilon = 1e-6;

/// torch.nn.MultiheadAttention with itself: one matrix for queries, keys and values.
tensor_value packed_attention(network& net, tensor_value x, const vision_sizes& sizes) {
  const auto here = net.enter("self_attention", "MultiheadAttention");
  tensor_value const weight = net.parameter("in_proj_weight", {3 * sizes.hidden, sizes.hidden});
  tensor_value const packed = net.call("linear", {x, weight, net.parameter("in_proj_bias", {3 * sizes.hidden})});
  const auto heads_of = [&](std::int64_t index) {
    return split_heads(net, net.call("narrow", {packed, -1, index * sizes.hidden, sizes.hidden}), sizes.heads,
                       sizes.hidden / sizes.heads);
  };
  tensor_value const query = heads_of(0);
  tensor_value const key = heads_of(1);
  x = join_heads(net, net.call("scaled_dot_product_attention", {query, key, heads_of(2)}));
  return linear(net, "out_proj", x, sizes.hidden, sizes.hidden);
}

tensor_value vision_layer(network& net, std::int64_t index, tensor_value x, const vision_sizes& sizes) {
  const auto here = net.enter("encoder_layer_" + std::to_string(index), "EncoderBlock");
  tensor_value const first = layer_norm(net, "ln_1", x, sizes.hidden, vision_epsilon);
  x = net.call("add", {packed_attention(net, first, sizes), x});
  tensor_value y = layer_norm(net, "ln_2", x, sizes.hidden, vision_epsilon);
  const auto mlp = net.enter("mlp", "MLPBlock");
  y = net.call("gelu", {linear(net, "0", y, sizes.hidden, sizes.inner)});
  y = linear(net, "3", y, sizes.inner, sizes.hidden);
  return net.call("add", {x, y});
}

/// Patches in a row of a picture. Weights for larger pictures have more positions; their number is in the file alone.
std::int64_t patches_of(network& net, const vision_sizes& sizes) {
  constexpr std::int64_t side = 224;
  const auto found = net.weights().sizes_of("encoder.pos_embedding");
  if (!found || found->size() != 3 || found->at(1) < 2) return side / sizes.patch;
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(found->at(1) - 1)));
}

void write_vision(network& net, const vision_sizes& sizes) {
  for (const std::string part : {"weight", "bias"}) {  // as files of older versions have it
    net.weights().rename_ends("mlp.linear_1." + part, "mlp.0." + part);
    net.weights().rename_ends("mlp.linear_2." + part, "mlp.3." + part);
  }
  const std::int64_t patches = patches_of(net, sizes);
  tensor_value x = patch_tokens(net, "conv_proj", net.input("x"),
                                {.side = patches * sizes.patch, .patch = sizes.patch, .hidden = sizes.hidden});
  x = behind_token(net, net.parameter("class_token", {1, 1, sizes.hidden}), x);
  {
    const auto encoder = net.enter("encoder", "Encoder");
    x = net.call("add", {x, net.parameter("pos_embedding", {1, patches * patches + 1, sizes.hidden})});
    {
      const auto layers = net.enter("layers", "Sequential");
      for (std::int64_t i = 0; i < sizes.layers; ++i) x = vision_layer(net, i, x, sizes);
    }
    x = layer_norm(net, "ln", x, sizes.hidden, vision_epsilon);
  }
  x = net.call("select", {x, 1, 0});
  const std::int64_t classes = classes_of(net, "heads.head");
  const auto heads = net.enter("heads", "Sequential");
  net.output("", linear(net, "head", x, sizes.hidden, classes));
}

}  // namespace

void add_vision_transformers(std::map<std::string, named_builder>& to) {
  const vision_sizes base{};
  const vision_sizes large{.layers = 24, .heads = 16, .hidden = 1024, .inner = 4096};
  const vision_sizes huge{.layers = 32, .heads = 16, .hidden = 1280, .inner = 5120};
  const auto add = [&](const std::string& name, vision_sizes sizes, std::int64_t patch) {
    sizes.patch = patch;
    to.emplace(name, [sizes](network& net) { write_vision(net, sizes); });
  };
  add("vit_b_16", base, 16);
  add("vit_b_32", base, 32);
  add("vit_l_16", large, 16);
  add("vit_l_32", large, 32);
  add("vit_h_14", huge, 14);
}

}  // namespace troupe
