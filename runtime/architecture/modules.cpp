#include "runtime/architecture/modules.hpp"

#include <vector>

namespace troupe {
namespace {

using numbers = std::vector<std::int64_t>;

}  // namespace

tensor_value linear(network& net, const std::string& name, tensor_value x, std::int64_t in, std::int64_t out,
                    bool has_bias) {
  const auto here = net.enter(name, "Linear");
  tensor_value const weight = net.parameter("weight", {out, in});
  return net.call("linear", {x, weight, has_bias ? net.parameter("bias", {out}) : net.none()});
}

tensor_value conv2d(network& net, const std::string& name, tensor_value x, const convolution_sizes& sizes) {
  const auto here = net.enter(name, "Conv2d");
  tensor_value const weight = net.parameter("weight", {sizes.out, sizes.in / sizes.groups, sizes.kernel, sizes.kernel});
  tensor_value const bias = sizes.has_bias ? net.parameter("bias", {sizes.out}) : net.none();
  const auto twice = [](std::int64_t number) { return numbers{number, number}; };
  return net.call("conv2d", {x, weight, bias, twice(sizes.stride), twice(sizes.padding), twice(1), sizes.groups});
}

tensor_value batch_norm2d(network& net, const std::string& name, tensor_value x, std::int64_t channels,
                          double epsilon) {
  const auto here = net.enter(name, "BatchNorm2d");
  net.weights().ignore("num_batches_tracked");
  tensor_value const weight = net.parameter("weight", {channels});
  tensor_value const bias = net.parameter("bias", {channels});
  tensor_value const mean = net.buffer("running_mean", {channels});
  tensor_value const variance = net.buffer("running_var", {channels});
  return net.call("batch_norm", {x, weight, bias, mean, variance, false, 0.1, epsilon, true});
}

tensor_value layer_norm(network& net, const std::string& name, tensor_value x, std::int64_t size, double epsilon) {
  const auto here = net.enter(name, "LayerNorm");
  tensor_value const weight = net.parameter("weight", {size});
  return net.call("layer_norm", {x, numbers{size}, weight, net.parameter("bias", {size}), epsilon});
}

tensor_value embedding(network& net, const std::string& name, tensor_value indices, std::int64_t count,
                       std::int64_t size) {
  const auto here = net.enter(name, "Embedding");
  return net.call("embedding", {net.parameter("weight", {count, size}), indices});
}

tensor_value first_rows(network& net, const std::string& name, tensor_value indices, std::int64_t count,
                        std::int64_t size) {
  const auto here = net.enter(name, "Embedding");
  tensor_value const table = net.parameter("weight", {count, size});
  return net.call("narrow", {table, 0, 0, net.call("size", {indices, 1})});
}

std::int64_t classes_of(network& net, const std::string& layer, std::int64_t otherwise) {
  const auto sizes = net.weights().sizes_of(layer + ".weight");
  return sizes && !sizes->empty() ? sizes->front() : otherwise;
}

}  // namespace troupe
