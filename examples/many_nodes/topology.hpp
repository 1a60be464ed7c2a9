#pragma once

#include <cstdint>
#include <string>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <troupe/troupe.hpp>

namespace examples {

/// An image whose mean pixel is below this has a thin pen; about a third of MNIST has.
inline constexpr double thin_below = 0.11;

/// Every pixel becomes the brightest of itself and of its neighbours to the right, below, and between the two.
inline at::Tensor thicken(const at::Tensor& images) {
  return at::max_pool2d(at::constant_pad_nd(images, {0, 1, 0, 1}, 0), 2, 1);
}

/// Thin digits are drawn thicker before the model sees them; all others go straight to it. The route splits each
/// micro-batch, the join puts it together again. The second sink counts what was thin. Of the five stages each has a
/// worker process where the program is launched: "thin?", "thicken", "all", "lenet 0" and "lenet 1".
inline troupe::topology many_nodes(const std::string& data_dir, troupe::stage_options each = {}) {
  const auto is_thin = [](const troupe::named_tensors& images) { return images.only().mean({1, 2, 3}) < thin_below; };
  return troupe::topology{}
      .source("loader", "mnist:" + data_dir + "/mnist")
      .route("thin?", {{"yes", is_thin}, {"no"}})
      .stage("thicken", thicken, each)
      .join("all", {"thin", "rest"})
      .pipeline("lenet", data_dir + "/mnist/lenet.pt",
                {.stages = 2, .optimize = troupe::optimize_mode::none, .num_pipe_buffers = each.num_pipe_buffers})
      .sink("metrics", {"accuracy", "nll"})
      .sink("thin", {})
      .edge("loader", "thin?")
      .edge("thin?.yes", "thicken")
      .edge("thicken", "all.thin")
      .edge("thin?.no", "all.rest")
      .edge("all", "lenet")
      .edge("lenet", "metrics")
      .edge("thicken", "thin");
}

}  // namespace examples
