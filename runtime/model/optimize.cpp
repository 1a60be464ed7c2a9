#include "runtime/model/optimize.hpp"

#include <algorithm>

#include "messages/check.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/stopped_early.hpp"

namespace troupe {
namespace {

constexpr auto optimize_fix = "run with --optimize none";

torch::jit::Module frozen_and_fused(const torch::jit::Module& module) {
  torch::jit::Module frozen = torch::jit::freeze(module);
  return torch::jit::optimize_for_inference(frozen);
}

torch::jit::Module container_of(std::span<const layer> layers) {
  torch::jit::Module container("fused_layers");
  std::string body = "def forward(self, x):\n";
  for (const layer& one : layers) {
    if (one.passes_through) continue;
    const std::string name = "layer_" + std::to_string(one.index);
    container.register_module(name, one.module);
    body += "  x = self." + name + ".forward(x)\n";
  }
  container.define(body + "  return x\n");
  container.eval();
  return container;
}

}  // namespace

expected<layer_chain> optimize_layers(const layer_chain& chain, const std::stop_token& stop,
                                      std::span<const std::size_t> plain) {
  layer_chain optimized = chain;
  for (layer& one : optimized.layers) {
    if (stop.stop_requested()) return stopped_early(chain.file);
    if (one.passes_through || std::ranges::binary_search(plain, one.index)) continue;
    try {
      one.module = frozen_and_fused(one.module);
    } catch (const std::exception& caught) {
      return fail(error_code::model_not_optimizable, chain.file + ", " + to_string(one),
                  "LibTorch cannot freeze it: " + libtorch_message(caught), optimize_fix);
    }
  }
  return optimized;
}

expected<layer_chain> optimize_what_can_be(const layer_chain& chain, const std::stop_token& stop,
                                           std::vector<refused_layer>& refused) {
  layer_chain optimized = chain;
  for (std::size_t index = 0; index < optimized.layers.size(); ++index) {
    layer& one = optimized.layers[index];
    if (stop.stop_requested()) return stopped_early(chain.file);
    if (one.passes_through) continue;
    try {
      one.module = frozen_and_fused(one.module);
    } catch (const std::exception& caught) {
      refused.push_back({index, libtorch_message(caught)});
    }
  }
  return optimized;
}

expected<torch::jit::Module> fuse_layers(std::span<const layer> layers, const std::string& where) {
  TROUPE_CHECK(!std::ranges::all_of(layers, &layer::passes_through), "there is something to fuse");
  try {
    return frozen_and_fused(container_of(layers));
  } catch (const std::exception& caught) {
    return fail(error_code::model_not_optimizable, where,
                "LibTorch cannot freeze the layers of this stage as a whole: " + libtorch_message(caught),
                "run with --optimize layer or none");
  }
}

}  // namespace troupe
