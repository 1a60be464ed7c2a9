#include <array>
#include <cstdint>
#include <string>

#include "runtime/architecture/families.hpp"
#include "runtime/architecture/mobile_blocks.hpp"

namespace troupe {
namespace {

/// The names and the sizes are those of torchvision.models.efficientnet.
struct efficient_net_kind {
  mobile_scale scale = {};
  /// In every norm. The weights of B5 to B7 come from a port that has another one.
  double epsilon = 1e-5;
};

tensor_value efficient_block(network& net, const std::string& name, tensor_value x, const mobile_stage& stage,
                             double epsilon) {
  const auto here = net.enter(name, "MBConv");
  tensor_value y = x;
  {
    const auto block = net.enter("block", "Sequential");
    const std::int64_t inner = stage.in * stage.expansion;
    int part = 0;
    if (stage.expansion != 1) {
      y = convolution_norm_act(net, std::to_string(part++), y, {.in = stage.in, .out = inner}, "silu", epsilon);
    }
    const convolution_sizes by_channel{.in = inner,
                                       .out = inner,
                                       .kernel = stage.kernel,
                                       .stride = stage.stride,
                                       .padding = stage.kernel / 2,
                                       .groups = inner};
    y = convolution_norm_act(net, std::to_string(part++), y, by_channel, "silu", epsilon);
    y = squeeze_excitation(net, std::to_string(part++), y, inner, stage.in / 4, "silu", "sigmoid");
    y = convolution_norm_act(net, std::to_string(part), y, {.in = inner, .out = stage.out}, "", epsilon);
  }
  return stage.stride == 1 && stage.in == stage.out ? net.call("add", {y, x}) : y;
}

tensor_value efficient_stage(network& net, std::size_t index, tensor_value x, mobile_stage stage, double epsilon) {
  const auto here = net.enter(std::to_string(index), "Sequential");
  for (std::int64_t block = 0; block < stage.blocks; ++block) {
    x = efficient_block(net, std::to_string(block), x, stage, epsilon);
    stage.in = stage.out;
    stage.stride = 1;
  }
  return x;
}

void write_efficient_net(network& net, const efficient_net_kind& kind) {
  tensor_value x = net.input("x");
  std::int64_t channels = 0;
  {
    const auto here = net.enter("features", "Sequential");
    const mobile_stage first = scaled(efficient_net_stages.front(), kind.scale);
    x = convolution_norm_act(net, "0", x, {.in = 3, .out = first.in, .kernel = 3, .stride = 2, .padding = 1}, "silu",
                             kind.epsilon);
    std::size_t part = 1;
    for (const mobile_stage& each : efficient_net_stages) {
      const mobile_stage stage = scaled(each, kind.scale);
      x = efficient_stage(net, part++, x, stage, kind.epsilon);
      channels = stage.out;
    }
    x = convolution_norm_act(net, std::to_string(part), x, {.in = channels, .out = channels * 4}, "silu", kind.epsilon);
  }
  x = channel_means(net, x);
  const std::int64_t classes = classes_of(net, "classifier.1");
  const auto here = net.enter("classifier", "Sequential");
  net.output("", linear(net, "1", x, channels * 4, classes));
}

}  // namespace

void add_efficient_nets(std::map<std::string, named_builder>& to) {
  constexpr double other_epsilon = 1e-3;
  const std::array<efficient_net_kind, 8> kinds{{{.scale = {.width = 1.0, .depth = 1.0}},
                                                 {.scale = {.width = 1.0, .depth = 1.1}},
                                                 {.scale = {.width = 1.1, .depth = 1.2}},
                                                 {.scale = {.width = 1.2, .depth = 1.4}},
                                                 {.scale = {.width = 1.4, .depth = 1.8}},
                                                 {.scale = {.width = 1.6, .depth = 2.2}, .epsilon = other_epsilon},
                                                 {.scale = {.width = 1.8, .depth = 2.6}, .epsilon = other_epsilon},
                                                 {.scale = {.width = 2.0, .depth = 3.1}, .epsilon = other_epsilon}}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    to.emplace("efficientnet_b" + std::to_string(i),
               [kind = kinds.at(i)](network& net) { write_efficient_net(net, kind); });
  }
}

}  // namespace troupe
