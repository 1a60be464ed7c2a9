#include "runtime/architecture/patch_tokens.hpp"

#include <vector>

#include "runtime/architecture/modules.hpp"

namespace troupe {

tensor_value patch_tokens(network& net, const std::string& name, tensor_value pixels, const patch_sizes& sizes) {
  for (const std::int64_t dimension : {2, 3}) {  // which changes nothing where the size is the right one
    pixels = net.call("unflatten", {pixels, dimension, std::vector<std::int64_t>{sizes.side}});
  }
  tensor_value const x = conv2d(
      net, name, pixels,
      {.in = sizes.channels, .out = sizes.hidden, .kernel = sizes.patch, .stride = sizes.patch, .has_bias = true});
  return net.call("transpose", {net.call("flatten", {x, 2}), 1, 2});
}

tensor_value behind_token(network& net, tensor_value token, tensor_value x) {
  tensor_value const for_each = net.call("expand_as", {token, net.call("narrow", {x, 1, 0, 1})});
  return net.call("cat", {net.list({for_each, x}), 1});
}

}  // namespace troupe
