#include "runtime/model/stage_inputs.hpp"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "runtime/model/layer_code.hpp"
#include "runtime/model/stopped_early.hpp"

namespace troupe {

expected<std::vector<at::Tensor>> stage_inputs(const layer_chain& chain, std::span<const std::size_t> boundaries,
                                               const at::Tensor& micro_batch, const std::stop_token& stop) {
  TROUPE_CHECK(!boundaries.empty() && boundaries.back() == chain.layers.size(), "boundaries cover the chain");
  const c10::InferenceMode no_gradients;
  std::vector<at::Tensor> inputs;
  at::Tensor current = micro_batch;
  for (std::size_t stage = 0; stage + 1 < boundaries.size(); ++stage) {
    inputs.push_back(current);
    if (stage + 2 == boundaries.size()) break;  // the last stage's output is no stage's input
    current = faithful_copy(current);           // layers may write their input
    for (std::size_t index = boundaries[stage]; index < boundaries[stage + 1]; ++index) {
      const layer& each = chain.layers[index];
      if (stop.stop_requested()) return stopped_early(chain.file);
      if (each.passes_through) continue;
      try {
        torch::jit::Module module = each.module;
        current = module.forward({current}).toTensor();
      } catch (const std::exception& e) {
        return fail(error_code::forward_failed, chain.file + ", " + to_string(each),
                    "forward failed: " + exception_text(e));
      }
    }
  }
  return inputs;
}

}  // namespace troupe
