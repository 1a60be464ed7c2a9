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

void run_tiny_chain() {
  const layer_chain chain{
      "first use",
      {make_tiny("convolution", "def forward(self, x):\n  return torch.relu(torch.conv2d(x, self.weight, self.bias))\n",
                 {8, 4, 3, 3}),
       make_tiny("linear",
                 "def forward(self, x):\n  return torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n",
                 {8, 32})}};
  auto optimized = optimize_layers(chain);
  if (!optimized) return;
  const c10::InferenceMode inference;
  for (std::uint32_t i = 0; i < limits::profile_warm_up_passes; ++i) {
    at::Tensor value = at::zeros({1, 4, 4, 4});
    for (layer& each : optimized->layers) value = each.module.forward({value}).toTensor();
  }
}

}  // namespace

void use_libtorch_once() {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  try {
    run_tiny_chain();
  } catch (const std::exception&) {
    // then the first real use is the first one
  }
  at::set_num_threads(threads);
}

}  // namespace troupe
