#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"

namespace troupe {
namespace {

/// Huang et al., "Densely Connected Convolutional Networks" (arXiv:1608.06993), with the names of
/// torchvision.models.densenet.
struct dense_sizes {
  std::int64_t first = 64;
  /// Channels that each layer adds.
  std::int64_t growth = 32;
  std::vector<std::int64_t> layers = {};
};

tensor_value norm_relu(network& net, const std::string& name, tensor_value x, std::int64_t channels) {
  return net.call("relu", {batch_norm2d(net, name, x, channels)});
}

tensor_value dense_layer(network& net, const std::string& name, tensor_value x, std::int64_t channels,
                         std::int64_t growth) {
  const auto here = net.enter(name, "_DenseLayer");
  const std::int64_t inner = 4 * growth;
  tensor_value y = conv2d(net, "conv1", norm_relu(net, "norm1", x, channels), {.in = channels, .out = inner});
  y = conv2d(net, "conv2", norm_relu(net, "norm2", y, inner), {.in = inner, .out = growth, .kernel = 3, .padding = 1});
  return net.call("cat", {net.list({x, y}), 1});
}

tensor_value dense_transition(network& net, const std::string& name, tensor_value x, std::int64_t channels) {
  const auto here = net.enter(name, "_Transition");
  x = conv2d(net, "conv", norm_relu(net, "norm", x, channels), {.in = channels, .out = channels / 2});
  return net.call("avg_pool2d", {x, std::vector<std::int64_t>{2, 2}, std::vector<std::int64_t>{2, 2}});
}

/// Published files have "norm.1" where the model has "norm1".
void rename_old(network& net) {
  for (const std::string part : {"norm", "conv"}) {
    for (const std::string number : {"1", "2"}) {
      for (const std::string end : {"weight", "bias", "running_mean", "running_var"}) {
        net.weights().rename_ends(fmt::format(".{}.{}.{}", part, number, end),
                                  fmt::format(".{}{}.{}", part, number, end));
      }
    }
  }
}

void write_dense(network& net, const dense_sizes& sizes) {
  rename_old(net);
  tensor_value x = net.input("x");
  std::int64_t channels = sizes.first;
  {
    const auto here = net.enter("features", "Sequential");
    x = conv2d(net, "conv0", x, {.in = 3, .out = channels, .kernel = 7, .stride = 2, .padding = 3});
    x = norm_relu(net, "norm0", x, channels);
    x = net.call("max_pool2d", {x, std::vector<std::int64_t>{3, 3}, std::vector<std::int64_t>{2, 2},
                                std::vector<std::int64_t>{1, 1}});
    for (std::size_t i = 0; i < sizes.layers.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      {
        const auto block = net.enter("denseblock" + number, "_DenseBlock");
        for (std::int64_t layer = 0; layer < sizes.layers[i]; ++layer, channels += sizes.growth) {
          x = dense_layer(net, "denselayer" + std::to_string(layer + 1), x, channels, sizes.growth);
        }
      }
      if (i + 1 == sizes.layers.size()) break;
      x = dense_transition(net, "transition" + number, x, channels);
      channels /= 2;
    }
    x = batch_norm2d(net, "norm5", x, channels);
  }
  x = net.call("adaptive_avg_pool2d", {net.call("relu", {x}), std::vector<std::int64_t>{1, 1}});
  net.output("", linear(net, "classifier", net.call("flatten", {x, 1}), channels, classes_of(net, "classifier")));
}

}  // namespace

void add_dense_nets(std::map<std::string, named_builder>& to) {
  const std::map<std::string, dense_sizes> all{
      {"densenet121", {.layers = {6, 12, 24, 16}}},
      {"densenet161", {.first = 96, .growth = 48, .layers = {6, 12, 36, 24}}},
      {"densenet169", {.layers = {6, 12, 32, 32}}},
      {"densenet201", {.layers = {6, 12, 48, 32}}},
  };
  for (const auto& each : all) {
    to.emplace(each.first, [sizes = each.second](network& net) { write_dense(net, sizes); });
  }
}

}  // namespace troupe
