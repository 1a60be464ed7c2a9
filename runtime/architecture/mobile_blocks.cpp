#include "runtime/architecture/mobile_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe {

tensor_value convolution_norm_act(network& net, const std::string& name, tensor_value x, const convolution_sizes& sizes,
                                  const std::string& act, double epsilon) {
  const auto here = net.enter(name, "Conv2dNormActivation");
  x = batch_norm2d(net, "1", conv2d(net, "0", x, sizes), sizes.out, epsilon);
  return act.empty() ? x : net.call(act, {x});
}

tensor_value squeeze_excitation(network& net, const std::string& name, tensor_value x, std::int64_t channels,
                                std::int64_t squeezed, const std::string& act, const std::string& gate) {
  const auto here = net.enter(name, "SqueezeExcitation");
  tensor_value scale = net.call("adaptive_avg_pool2d", {x, std::vector<std::int64_t>{1, 1}});
  scale = net.call(act, {conv2d(net, "fc1", scale, {.in = channels, .out = squeezed, .has_bias = true})});
  scale = net.call(gate, {conv2d(net, "fc2", scale, {.in = squeezed, .out = channels, .has_bias = true})});
  return net.call("mul", {scale, x});
}

tensor_value channel_means(network& net, tensor_value x) {
  return net.call("flatten", {net.call("adaptive_avg_pool2d", {x, std::vector<std::int64_t>{1, 1}}), 1});
}

std::int64_t whole_channels(double channels) {
  const std::int64_t whole = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(whole) < 0.9 * channels ? whole + 8 : whole;
}

mobile_stage scaled(const mobile_stage& stage, const mobile_scale& by) {
  mobile_stage made = stage;
  made.in = whole_channels(static_cast<double>(stage.in) * by.width);
  made.out = whole_channels(static_cast<double>(stage.out) * by.width);
  made.blocks = static_cast<std::int64_t>(std::ceil(static_cast<double>(stage.blocks) * by.depth));
  return made;
}

}  // namespace troupe
