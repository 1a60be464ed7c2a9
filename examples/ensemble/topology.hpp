#pragma once

#include <cstdint>
#include <string>

#include "../support/centroids.hpp"

namespace examples {

inline constexpr std::uint64_t ensemble_fit_samples = 500;

/// Two models look at the same samples, and a stage with two inputs averages what they say. The source's output has two
/// edges: every branch gets every micro-batch. The stage waits for both parts of one micro-batch.
inline troupe::topology ensemble(const std::string& data_dir, troupe::stage_options each = {}) {
  const std::string data = "mnist:" + data_dir + "/mnist";
  const centroids small(*troupe::get(troupe::open_data(data)), ensemble_fit_samples);
  const auto average = [](const troupe::named_tensors& votes) -> troupe::named_tensors {
    return ((votes.at("lenet").exp() + votes.at("means").exp()) / 2).log();
  };
  troupe::stage_options both = each;
  both.inputs = {"lenet", "means"};
  return troupe::topology{}
      .source("loader", data)
      .pipeline("lenet", data_dir + "/mnist/lenet.pt",
                {.replicas = each.replicas,
                 .optimize = troupe::optimize_mode::none,
                 .num_pipe_buffers = each.num_pipe_buffers})
      .stage(
          "means", [small](const at::Tensor& images) { return small.scores(images); }, each)
      .stage("average", average, both)
      .sink("metrics", {"accuracy", "nll"})
      .sink("means alone", {"accuracy"})
      .edge("loader", "lenet")
      .edge("loader", "means")
      .edge("lenet", "average.lenet")
      .edge("means", "average.means")
      .edge("average", "metrics")
      .edge("means", "means alone");
}

}  // namespace examples
