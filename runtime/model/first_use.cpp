#include "runtime/model/first_use.hpp"

#include <exception>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/lower_module.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {
namespace {

operator_graph make_tiny_model() {
  torch::jit::Module module("first_use");
  module.register_parameter("filter", at::zeros({8, 4, 3, 3}), false);
  module.register_parameter("weight", at::zeros({8, 32}), false);
  module.register_parameter("bias", at::zeros({8}), false);
  module.define(
      "def forward(self, x):\n"
      "  x = torch.relu(torch.conv2d(x, self.filter, self.bias))\n"
      "  return torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n");
  module.eval();
  auto lowered = lower_module(module, "first use");
  TROUPE_CHECK(lowered.has_value(), "the tiny model is a right one");
  return std::move(*lowered);
}

void run_tiny_model(c10::Device device) {
  operator_graph model = make_tiny_model();
  bind_inputs(model, {});
  rewrite_graph(model, device.is_cpu() ? rewrite_target::cpu : rewrite_target::device);
  const layered_graph graph(std::move(model), layer_unit::modules);
  const graph_code code(graph.part(0, graph.layers().size(), device));
  const c10::InferenceMode inference;
  for (std::uint32_t i = 0; i < limits::profile_warm_up_passes; ++i)
    static_cast<void>(code.run({at::zeros({1, 4, 4, 4}, at::TensorOptions(device))}));
}

void use_once(c10::Device device) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  try {
    run_tiny_model(device);
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
