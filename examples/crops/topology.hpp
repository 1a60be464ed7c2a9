#pragma once

#include <string>

#include <ATen/Functions.h>

#include <troupe/troupe.hpp>

namespace examples {

/// Each image four times, moved by a pixel to the left, right, up and down: [N, C, H, W] -> [4N, C, H, W].
inline at::Tensor four_crops(const at::Tensor& images) {
  const at::Tensor padded = at::constant_pad_nd(images, {1, 1, 1, 1}, 0);
  const std::int64_t height = images.size(2);
  const std::int64_t width = images.size(3);
  const auto crop = [&](std::int64_t top, std::int64_t left) {
    return padded.narrow(2, top, height).narrow(3, left, width);
  };
  return at::stack({crop(1, 0), crop(1, 2), crop(0, 1), crop(2, 1)}, 1).flatten(0, 1);
}

/// The mean opinion on the four: log-probabilities [4N, classes] -> [N, classes].
inline at::Tensor vote(const at::Tensor& scores) {
  return scores.unflatten(0, {-1, 4}).exp().mean(1).log();
}

/// Stages that are no models: one makes four crops of every image, one votes over what the model says of them. Between
/// them dimension 0 is not the samples; it is again where the sink scores.
inline troupe::topology crops(const std::string& data_dir, troupe::stage_options each = {}) {
  return troupe::topology{}
      .source("loader", "mnist:" + data_dir + "/mnist")
      .stage("crops", four_crops, each)
      .pipeline("lenet", data_dir + "/mnist/lenet.pt",
                {.stages = 2, .optimize = troupe::optimize_mode::none, .num_pipe_buffers = each.num_pipe_buffers})
      .stage("vote", vote, each)
      .sink("metrics", {"accuracy", "nll"});
}

}  // namespace examples
