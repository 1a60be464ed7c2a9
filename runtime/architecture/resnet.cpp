#include <array>
#include <cstdint>

#include <ATen/ops/tensor.h>

#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"

namespace troupe {
namespace {

/// He et al., "Deep Residual Learning for Image Recognition" (arXiv:1512.03385), with the names and the strides of
/// torchvision.models.resnet: the 3x3 convolution of a bottleneck has the stride, not the first one ("v1.5").
struct image_net_sizes {
  std::array<std::int64_t, 4> blocks = {};
  bool has_bottlenecks = false;
  std::int64_t groups = 1;
  std::int64_t group_width = 64;
};

tensor_value relu(network& net, tensor_value x) {
  return net.call("relu", {x});
}

tensor_value convolution_and_norm(network& net, const std::string& number, tensor_value x,
                                  const convolution_sizes& sizes) {
  x = conv2d(net, "conv" + number, x, sizes);
  return batch_norm2d(net, "bn" + number, x, sizes.out);
}

tensor_value projection(network& net, tensor_value x, std::int64_t in, std::int64_t out, std::int64_t stride) {
  const auto here = net.enter("downsample", "Sequential");
  x = conv2d(net, "0", x, {.in = in, .out = out, .stride = stride});
  return batch_norm2d(net, "1", x, out);
}

tensor_value basic_block(network& net, const std::string& name, tensor_value x, std::int64_t in, std::int64_t width,
                         std::int64_t stride) {
  const auto here = net.enter(name, "BasicBlock");
  const bool has_projection = stride != 1 || in != width;
  tensor_value y =
      convolution_and_norm(net, "1", x, {.in = in, .out = width, .kernel = 3, .stride = stride, .padding = 1});
  y = convolution_and_norm(net, "2", relu(net, y), {.in = width, .out = width, .kernel = 3, .padding = 1});
  if (has_projection) x = projection(net, x, in, width, stride);
  return relu(net, net.call("add", {y, x}));
}

tensor_value bottleneck(network& net, const std::string& name, tensor_value x, std::int64_t in, std::int64_t width,
                        std::int64_t stride, const image_net_sizes& sizes) {
  const auto here = net.enter(name, "Bottleneck");
  const std::int64_t inner = width * sizes.group_width / 64 * sizes.groups;
  const std::int64_t out = width * 4;
  tensor_value y = convolution_and_norm(net, "1", x, {.in = in, .out = inner});
  y = convolution_and_norm(
      net, "2", relu(net, y),
      {.in = inner, .out = inner, .kernel = 3, .stride = stride, .padding = 1, .groups = sizes.groups});
  y = convolution_and_norm(net, "3", relu(net, y), {.in = inner, .out = out});
  if (stride != 1 || in != out) x = projection(net, x, in, out, stride);
  return relu(net, net.call("add", {y, x}));
}

void write_image_net(network& net, const image_net_sizes& sizes) {
  tensor_value x = net.input("x");
  x = relu(net, convolution_and_norm(net, "1", x, {.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3}));
  x = net.call("max_pool2d",
               {x, std::vector<std::int64_t>{3, 3}, std::vector<std::int64_t>{2, 2}, std::vector<std::int64_t>{1, 1}});
  std::int64_t in = 64;
  for (std::size_t layer = 0; layer < sizes.blocks.size(); ++layer) {
    const auto here = net.enter("layer" + std::to_string(layer + 1), "Sequential");
    const std::int64_t width = std::int64_t{64} << layer;
    for (std::int64_t block = 0; block < sizes.blocks[layer]; ++block) {
      const std::int64_t stride = layer > 0 && block == 0 ? 2 : 1;
      x = sizes.has_bottlenecks ? bottleneck(net, std::to_string(block), x, in, width, stride, sizes)
                                : basic_block(net, std::to_string(block), x, in, width, stride);
      in = sizes.has_bottlenecks ? width * 4 : width;
    }
  }
  x = net.call("flatten", {net.call("adaptive_avg_pool2d", {x, std::vector<std::int64_t>{1, 1}}), 1});
  net.output("", linear(net, "fc", x, in, classes_of(net, "fc", 1000)));
}

/// Section 4.2 of the paper, for pictures of 32 x 32, with the names of github.com/akamaster/pytorch_resnet_cifar10:
/// 6n+2 layers, and shortcuts without weights, which take every second pixel and fill up channels with zeros. Pixels
/// come as numbers from 0 to 1, as data sets of pictures give them; the first layer brings them to the mean and the
/// spread that those weights were trained with.
tensor_value small_block(network& net, const std::string& name, tensor_value x, std::int64_t in, std::int64_t width,
                         std::int64_t stride) {
  const auto here = net.enter(name, "BasicBlock");
  tensor_value y =
      convolution_and_norm(net, "1", x, {.in = in, .out = width, .kernel = 3, .stride = stride, .padding = 1});
  y = convolution_and_norm(net, "2", relu(net, y), {.in = width, .out = width, .kernel = 3, .padding = 1});
  if (stride != 1 || in != width) {
    for (const std::int64_t dimension : {2, 3}) x = net.call("slice", {x, dimension, net.none(), net.none(), 2});
    x = net.call("pad", {x, std::vector<std::int64_t>{0, 0, 0, 0, width / 4, width / 4}, "constant", 0.0});
  }
  return relu(net, net.call("add", {y, x}));
}

tensor_value normalized(network& net, tensor_value x) {
  const auto here = net.enter("normalize", "Normalize");
  const auto per_channel = [&](const at::Tensor& numbers) {
    return net.call("type_as", {net.constant(numbers.view({3, 1, 1})), x});  // pixels may be float16
  };
  x = net.call("sub", {x, per_channel(at::tensor({0.485F, 0.456F, 0.406F}))});
  return net.call("div", {x, per_channel(at::tensor({0.229F, 0.224F, 0.225F}))});
}

void write_cifar(network& net, std::int64_t blocks) {
  tensor_value x = normalized(net, net.input("x"));
  x = relu(net, convolution_and_norm(net, "1", x, {.in = 3, .out = 16, .kernel = 3, .padding = 1}));
  std::int64_t in = 16;
  for (int layer = 0; layer < 3; ++layer) {
    const auto here = net.enter("layer" + std::to_string(layer + 1), "Sequential");
    const std::int64_t width = std::int64_t{16} << layer;
    for (std::int64_t block = 0; block < blocks; ++block) {
      x = small_block(net, std::to_string(block), x, in, width, layer > 0 && block == 0 ? 2 : 1);
      in = width;
    }
  }
  x = net.call("mean", {x, std::vector<std::int64_t>{2, 3}});
  net.output("", linear(net, "linear", x, 64, classes_of(net, "linear", 10)));
}

}  // namespace

void add_resnets(std::map<std::string, named_builder>& to) {
  const std::map<std::string, image_net_sizes> image_net{
      {"resnet18", {.blocks = {2, 2, 2, 2}}},
      {"resnet34", {.blocks = {3, 4, 6, 3}}},
      {"resnet50", {.blocks = {3, 4, 6, 3}, .has_bottlenecks = true}},
      {"resnet101", {.blocks = {3, 4, 23, 3}, .has_bottlenecks = true}},
      {"resnet152", {.blocks = {3, 8, 36, 3}, .has_bottlenecks = true}},
      {"resnext50_32x4d", {.blocks = {3, 4, 6, 3}, .has_bottlenecks = true, .groups = 32, .group_width = 4}},
      {"wide_resnet50_2", {.blocks = {3, 4, 6, 3}, .has_bottlenecks = true, .group_width = 128}},
  };
  for (const auto& each : image_net) {
    to.emplace(each.first, [sizes = each.second](network& net) { write_image_net(net, sizes); });
  }
  for (const std::int64_t depth : {20, 32, 44, 56, 110}) {
    const std::string name = "resnet" + std::to_string(depth) + "-cifar";
    to.emplace(name, [blocks = (depth - 2) / 6](network& net) { write_cifar(net, blocks); });
  }
}

}  // namespace troupe
