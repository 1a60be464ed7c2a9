#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/architecture/modules.hpp"

namespace troupe {

/// Parts of MobileNets and EfficientNets. `act` is an operator of `aten` with one argument, such as "relu6", or empty.

/// torchvision's Conv2dNormActivation: the convolution is "0", the norm is "1".
tensor_value convolution_norm_act(network& net, const std::string& name, tensor_value x, const convolution_sizes& sizes,
                                  const std::string& act, double epsilon);

/// torchvision's SqueezeExcitation: each channel times a number that `gate` gives for the means of all channels.
tensor_value squeeze_excitation(network& net, const std::string& name, tensor_value x, std::int64_t channels,
                                std::int64_t squeezed, const std::string& act, const std::string& gate);

/// The mean over height and width, [N, channels].
tensor_value channel_means(network& net, tensor_value x);

/// Blocks of the same output size. The first one has the stride.
struct mobile_stage {
  std::int64_t expansion = 1;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t blocks = 1;
};

/// Table 1 of Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks"
/// (arXiv:1905.11946), where "MBConv6" is an expansion of 6.
inline constexpr std::array<mobile_stage, 7> efficient_net_stages{{
    {.expansion = 1, .kernel = 3, .stride = 1, .in = 32, .out = 16, .blocks = 1},
    {.expansion = 6, .kernel = 3, .stride = 2, .in = 16, .out = 24, .blocks = 2},
    {.expansion = 6, .kernel = 5, .stride = 2, .in = 24, .out = 40, .blocks = 2},
    {.expansion = 6, .kernel = 3, .stride = 2, .in = 40, .out = 80, .blocks = 3},
    {.expansion = 6, .kernel = 5, .stride = 1, .in = 80, .out = 112, .blocks = 3},
    {.expansion = 6, .kernel = 5, .stride = 2, .in = 112, .out = 192, .blocks = 4},
    {.expansion = 6, .kernel = 3, .stride = 1, .in = 192, .out = 320, .blocks = 1},
}};

/// So many channels, as the next multiple of 8 that is not more than a tenth below.
std::int64_t whole_channels(double channels);

/// The factors of a larger model.
struct mobile_scale {
  double width = 1;
  double depth = 1;
};
mobile_stage scaled(const mobile_stage& stage, const mobile_scale& by);

}  // namespace troupe
