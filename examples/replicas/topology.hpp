#pragma once

#include <memory>
#include <string>

#include <ATen/Functions.h>

#include <troupe/troupe.hpp>

namespace examples {

/// A slow stage: replaces each pixel by the median of its 3 x 3 neighbours. A class of its own, as a stage with state
/// would be; each replica gets one.
class median_filter final : public troupe::stage_function {
 public:
  [[nodiscard]] troupe::named_tensors run(const troupe::named_tensors& inputs,
                                          const troupe::micro_batch_info&) override {
    const at::Tensor padded = at::constant_pad_nd(inputs.only(), {1, 1, 1, 1}, 0);
    const at::Tensor neighbours = padded.unfold(2, 3, 1).unfold(3, 3, 1).flatten(4);
    return std::get<0>(neighbours.median(-1));
  }
  [[nodiscard]] bool may_write_input() const noexcept override { return false; }
};

/// The slow stage is widened: its replicas pull work as they have credit, so micro-batches overtake each other. `order`
/// takes them in id order again; without it the rest would take them as they come, and the results would be the same.
inline troupe::topology replicas(const std::string& data_dir, std::uint32_t copies, troupe::stage_options each = {}) {
  const troupe::stage_factory make_filter = [](const troupe::stage_context&) {
    return std::make_shared<median_filter>();
  };
  troupe::stage_options in_order = each;
  in_order.ordered = true;
  return troupe::topology{}
      .source("loader", "mnist:" + data_dir + "/mnist")
      .stage("filter", make_filter, each)
      .replicate("filter", copies)
      .stage(
          "order", [](const at::Tensor& images) { return images; }, in_order)
      .pipeline("lenet", data_dir + "/mnist/lenet.pt",
                {.optimize = troupe::optimize_mode::none, .num_pipe_buffers = each.num_pipe_buffers})
      .sink("metrics", {"accuracy", "nll"});
}

}  // namespace examples
