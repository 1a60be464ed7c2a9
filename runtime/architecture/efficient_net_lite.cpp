#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/architecture/families.hpp"
#include "runtime/architecture/mobile_blocks.hpp"

namespace troupe {
namespace {

/// EfficientNet without squeeze-and-excitation, for small devices, with the names of the package
/// efficientnet-lite-pytorch on PyPI: the first convolution, the head, and the number of blocks in the first and the
/// last stage are the same in all sizes.
struct lite_kind {
  mobile_scale scale = {};
  /// Height and width of the pictures that the model is trained with.
  std::int64_t side = 0;
};

constexpr double lite_epsilon = 1e-3;

/// The padding "SAME" of TensorFlow, as it is for pictures of the size in training, whatever the size of these ones: an
/// odd sum has more behind than before. `side` is that of the input, and becomes that of the output.
tensor_value same_convolution(network& net, const std::string& name, tensor_value x, convolution_sizes sizes,
                              std::int64_t& side) {
  const std::int64_t out = (side + sizes.stride - 1) / sizes.stride;
  const std::int64_t padding = std::max<std::int64_t>(0, (out - 1) * sizes.stride + sizes.kernel - side);
  side = out;
  sizes.padding = padding / 2;
  if (padding % 2 == 0) return conv2d(net, name, x, sizes);
  const auto here = net.enter(name, "Conv2d");
  const auto twice = [](std::int64_t number) { return std::vector<std::int64_t>{number, number}; };
  const std::int64_t behind = padding - sizes.padding;
  x = net.call("pad", {x, std::vector<std::int64_t>{sizes.padding, behind, sizes.padding, behind}, "constant", 0.0});
  tensor_value const weight = net.parameter("weight", {sizes.out, sizes.in / sizes.groups, sizes.kernel, sizes.kernel});
  return net.call("conv2d", {x, weight, net.none(), twice(sizes.stride), twice(0), twice(1), sizes.groups});
}

tensor_value lite_norm(network& net, const std::string& name, tensor_value x, std::int64_t channels) {
  return batch_norm2d(net, name, x, channels, lite_epsilon);
}

tensor_value lite_block(network& net, std::int64_t index, tensor_value x, const mobile_stage& stage,
                        std::int64_t& side) {
  const auto here = net.enter("_blocks." + std::to_string(index), "MBConvBlock");
  const std::int64_t inner = stage.in * stage.expansion;
  tensor_value y = x;
  if (stage.expansion != 1) {
    y = conv2d(net, "_expand_conv", y, {.in = stage.in, .out = inner});
    y = net.call("relu6", {lite_norm(net, "_bn0", y, inner)});
  }
  y = same_convolution(net, "_depthwise_conv", y,
                       {.in = inner, .out = inner, .kernel = stage.kernel, .stride = stage.stride, .groups = inner},
                       side);
  y = net.call("relu6", {lite_norm(net, "_bn1", y, inner)});
  y = lite_norm(net, "_bn2", conv2d(net, "_project_conv", y, {.in = inner, .out = stage.out}), stage.out);
  return stage.stride == 1 && stage.in == stage.out ? net.call("add", {y, x}) : y;
}

/// The stage as it is in this size of model.
mobile_stage lite_stage(std::size_t index, const lite_kind& kind) {
  const mobile_stage& plain = efficient_net_stages.at(index);
  mobile_stage stage = scaled(plain, kind.scale);
  if (index == 0) stage.in = plain.in;
  if (index == 0 || index + 1 == efficient_net_stages.size()) stage.blocks = plain.blocks;
  return stage;
}

void write_lite(network& net, const lite_kind& kind) {
  constexpr std::int64_t first = 32;
  constexpr std::int64_t last = 1280;
  std::int64_t side = kind.side;
  tensor_value x =
      same_convolution(net, "_conv_stem", net.input("x"), {.in = 3, .out = first, .kernel = 3, .stride = 2}, side);
  x = net.call("relu6", {lite_norm(net, "_bn0", x, first)});
  std::int64_t index = 0;
  std::int64_t channels = first;
  for (std::size_t i = 0; i < efficient_net_stages.size(); ++i) {
    mobile_stage stage = lite_stage(i, kind);
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      x = lite_block(net, index++, x, stage, side);
      stage.in = stage.out;
      stage.stride = 1;
    }
    channels = stage.out;
  }
  x = lite_norm(net, "_bn1", conv2d(net, "_conv_head", x, {.in = channels, .out = last}), last);
  x = channel_means(net, net.call("relu6", {x}));
  net.output("", linear(net, "_fc", x, last, classes_of(net, "_fc")));
}

}  // namespace

void add_efficient_nets_lite(std::map<std::string, named_builder>& to) {
  const std::array<lite_kind, 5> kinds{{{.scale = {.width = 1.0, .depth = 1.0}, .side = 224},
                                        {.scale = {.width = 1.0, .depth = 1.1}, .side = 240},
                                        {.scale = {.width = 1.1, .depth = 1.2}, .side = 260},
                                        {.scale = {.width = 1.2, .depth = 1.4}, .side = 280},
                                        {.scale = {.width = 1.4, .depth = 1.8}, .side = 300}}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    to.emplace("efficientnet-lite" + std::to_string(i), [kind = kinds.at(i)](network& net) { write_lite(net, kind); });
  }
}

}  // namespace troupe
