#pragma once

#include <cstdint>
#include <string>

#include "../support/centroids.hpp"

namespace examples {

inline constexpr std::uint64_t cascade_fit_samples = 500;
/// The small model answers where it gives its first choice at least this probability.
inline constexpr double cascade_sure_from = 0.9;

/// Early exit: a small model sees every sample, the big one only those that the small one is not sure of. The route
/// splits each micro-batch, the join puts it together again, and each sink counts exactly what came its way. An ordered
/// node takes micro-batches in id order though replicas feed it, as a join somewhere behind it needs (E0505).
inline troupe::topology cascade(const std::string& data_dir, double sure_from = cascade_sure_from,
                                troupe::stage_options each = {}) {
  const std::string data = "mnist:" + data_dir + "/mnist";
  const centroids small(*troupe::get(troupe::open_data(data)), cascade_fit_samples);
  const auto look = [small](const at::Tensor& images) -> troupe::named_tensors {
    return {{"image", images}, {"scores", small.scores(images)}};
  };
  const auto is_sure = [sure_from](const troupe::named_tensors& seen) {
    return seen.at("scores").amax(1).exp() >= sure_from;
  };
  const auto keep = [](const char* name) {
    return [name](const troupe::named_tensors& seen) -> troupe::named_tensors { return seen.at(name); };
  };
  return troupe::topology{}
      .source("loader", data)
      .stage("small", look, each)
      .route("sure?", {{"yes", is_sure}, {"no"}}, {.ordered = true})
      .stage("answer", keep("scores"), each)
      .stage("ask", keep("image"), each)
      .pipeline("big", data_dir + "/mnist/lenet.pt",
                {.replicas = each.replicas,
                 .optimize = troupe::optimize_mode::none,
                 .num_pipe_buffers = each.num_pipe_buffers,
                 .ordered = true})
      .join("all", {"early", "late"})
      .sink("metrics", {"accuracy", "nll"})
      .sink("early", {"accuracy"})
      .sink("late", {"accuracy"})
      .edge("loader", "small")
      .edge("small", "sure?")
      .edge("sure?.yes", "answer")
      .edge("sure?.no", "ask")
      .edge("ask", "big")
      .edge("answer", "all.early")
      .edge("big", "all.late")
      .edge("all", "metrics")
      .edge("answer", "early")
      .edge("big", "late");
}

}  // namespace examples
