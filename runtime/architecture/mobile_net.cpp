#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/architecture/families.hpp"
#include "runtime/architecture/mobile_blocks.hpp"

namespace troupe {
namespace {

/// Table 2 of Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (arXiv:1801.04381).
constexpr std::array<mobile_stage, 7> v2_stages{{
    {.expansion = 1, .stride = 1, .in = 32, .out = 16, .blocks = 1},
    {.expansion = 6, .stride = 2, .in = 16, .out = 24, .blocks = 2},
    {.expansion = 6, .stride = 2, .in = 24, .out = 32, .blocks = 3},
    {.expansion = 6, .stride = 2, .in = 32, .out = 64, .blocks = 4},
    {.expansion = 6, .stride = 1, .in = 64, .out = 96, .blocks = 3},
    {.expansion = 6, .stride = 2, .in = 96, .out = 160, .blocks = 3},
    {.expansion = 6, .stride = 1, .in = 160, .out = 320, .blocks = 1},
}};

constexpr double v2_epsilon = 1e-5;
constexpr double v3_epsilon = 1e-3;

/// The names are those of torchvision.models.mobilenetv2.
tensor_value v2_block(network& net, std::int64_t index, tensor_value x, const mobile_stage& stage) {
  const auto here = net.enter(std::to_string(index), "InvertedResidual");
  const std::int64_t inner = stage.in * stage.expansion;
  tensor_value y = x;
  {
    const auto block = net.enter("conv", "Sequential");
    int part = 0;
    if (stage.expansion != 1) {
      y = convolution_norm_act(net, std::to_string(part++), y, {.in = stage.in, .out = inner}, "relu6", v2_epsilon);
    }
    y = convolution_norm_act(
        net, std::to_string(part++), y,
        {.in = inner, .out = inner, .kernel = 3, .stride = stage.stride, .padding = 1, .groups = inner}, "relu6",
        v2_epsilon);
    y = conv2d(net, std::to_string(part++), y, {.in = inner, .out = stage.out});
    y = batch_norm2d(net, std::to_string(part), y, stage.out, v2_epsilon);
  }
  return stage.stride == 1 && stage.in == stage.out ? net.call("add", {x, y}) : y;
}

void write_v2(network& net) {
  constexpr std::int64_t last = 1280;
  tensor_value x = net.input("x");
  {
    const auto here = net.enter("features", "Sequential");
    std::int64_t channels = v2_stages.front().in;
    x = convolution_norm_act(net, "0", x, {.in = 3, .out = channels, .kernel = 3, .stride = 2, .padding = 1}, "relu6",
                             v2_epsilon);
    std::int64_t index = 1;
    for (mobile_stage stage : v2_stages) {
      for (std::int64_t block = 0; block < stage.blocks; ++block) {
        x = v2_block(net, index++, x, stage);
        stage.in = stage.out;
        stage.stride = 1;
      }
      channels = stage.out;
    }
    x = convolution_norm_act(net, std::to_string(index), x, {.in = channels, .out = last}, "relu6", v2_epsilon);
  }
  x = channel_means(net, x);
  const std::int64_t classes = classes_of(net, "classifier.1");
  const auto here = net.enter("classifier", "Sequential");
  net.output("", linear(net, "1", x, last, classes));
}

/// A row of tables 1 and 2 of Howard et al., "Searching for MobileNetV3" (arXiv:1905.02244).
struct v3_row {
  std::int64_t kernel = 3;
  std::int64_t inner = 0;
  std::int64_t out = 0;
  bool has_squeeze = false;
  /// "hardswish" in place of "relu".
  bool is_hard = false;
  std::int64_t stride = 1;
};

const std::vector<v3_row> v3_large{
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
    {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
    {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1},
};
const std::vector<v3_row> v3_small{
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
    {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
    {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
    {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1},
};

/// The names are those of torchvision.models.mobilenetv3.
tensor_value v3_block(network& net, std::int64_t index, tensor_value x, std::int64_t in, const v3_row& row) {
  const auto here = net.enter(std::to_string(index), "InvertedResidual");
  const std::string act = row.is_hard ? "hardswish" : "relu";
  tensor_value y = x;
  {
    const auto block = net.enter("block", "Sequential");
    int part = 0;
    if (row.inner != in) {
      y = convolution_norm_act(net, std::to_string(part++), y, {.in = in, .out = row.inner}, act, v3_epsilon);
    }
    const convolution_sizes by_channel{.in = row.inner,
                                       .out = row.inner,
                                       .kernel = row.kernel,
                                       .stride = row.stride,
                                       .padding = row.kernel / 2,
                                       .groups = row.inner};
    y = convolution_norm_act(net, std::to_string(part++), y, by_channel, act, v3_epsilon);
    if (row.has_squeeze) {
      const std::int64_t quarter = row.inner / 4;
      const std::int64_t squeezed = whole_channels(static_cast<double>(quarter));
      y = squeeze_excitation(net, std::to_string(part++), y, row.inner, squeezed, "relu", "hardsigmoid");
    }
    y = convolution_norm_act(net, std::to_string(part), y, {.in = row.inner, .out = row.out}, "", v3_epsilon);
  }
  return row.stride == 1 && in == row.out ? net.call("add", {y, x}) : y;
}

void write_v3(network& net, const std::vector<v3_row>& rows, std::int64_t last) {
  tensor_value x = net.input("x");
  std::int64_t channels = 16;
  {
    const auto here = net.enter("features", "Sequential");
    x = convolution_norm_act(net, "0", x, {.in = 3, .out = channels, .kernel = 3, .stride = 2, .padding = 1},
                             "hardswish", v3_epsilon);
    std::int64_t index = 1;
    for (const v3_row& row : rows) {
      x = v3_block(net, index++, x, channels, row);
      channels = row.out;
    }
    x = convolution_norm_act(net, std::to_string(index), x, {.in = channels, .out = channels * 6}, "hardswish",
                             v3_epsilon);
  }
  x = channel_means(net, x);
  const std::int64_t classes = classes_of(net, "classifier.3");
  const auto here = net.enter("classifier", "Sequential");
  x = net.call("hardswish", {linear(net, "0", x, channels * 6, last)});
  net.output("", linear(net, "3", x, last, classes));
}

}  // namespace

void add_mobile_nets(std::map<std::string, named_builder>& to) {
  to.emplace("mobilenet_v2", write_v2);
  to.emplace("mobilenet_v3_large", [](network& net) { write_v3(net, v3_large, 1280); });
  to.emplace("mobilenet_v3_small", [](network& net) { write_v3(net, v3_small, 1024); });
}

}  // namespace troupe
