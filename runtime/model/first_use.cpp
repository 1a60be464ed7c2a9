#include "runtime/model/first_use.hpp"

#include <exception>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>

#include "messages/limits.hpp"
#include "runtime/model/optimize.hpp"

namespace troupe {
namespace {

layer make_tiny(const char* name, const char* forward, at::IntArrayRef weight) {
  torch::jit::Module module(name);
  module.register_parameter("weight", at::zeros(weight), false);
  module.register_parameter("bias", at::zeros(weight.front()), false);
  module.define(forward);
  module.eval();
  layer made;
  made.name = name;
  made.type = name;
  made.module = module;
  return made;
}

layer_chain make_tiny_chain() {
  return {
      "first use",
      {make_tiny("convolution", "def forward(self, x):\n  return torch.relu(torch.conv2d(x, self.weight, self.bias))\n",
                 {8, 4, 3, 3}),
       make_tiny("linear",
                 "def forward(self, x):\n  return torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n",
                 {8, 32})}};
}

void run_tiny_chain(layer_chain chain, c10::Device device) {
  for (layer& each : chain.layers) each.module.to(device);
  auto optimized = optimize_layers(chain);
  if (!optimized) return;
  const c10::InferenceMode inference;
  for (std::uint32_t i = 0; i < limits::profile_warm_up_passes; ++i) {
    at::Tensor value = at::zeros({1, 4, 4, 4}, at::TensorOptions(device));
    for (layer& each : optimized->layers) value = each.module.forward({value}).toTensor();
  }
}

void use_once(c10::Device device) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  try {
    run_tiny_chain(make_tiny_chain(), device);
  } catch (const std::exception&) {
    // then the first real use is the first one
  }
  at::set_num_threads(threads);
}

}  // namespace

void warm_up_libtorch() {
  use_once(c10::Device(c10::DeviceType::CPU));
}

void use_device_once(c10::Device device) {
  use_once(device);
}

}  // namespace troupe
