#pragma once

#include <cstdint>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <troupe/troupe.hpp>

namespace examples {

/// The smallest classifier there is: the mean image of each class, from the first `samples` of a data set. Scores are
/// log-probabilities that fall with the squared distance to the mean.
class centroids {
 public:
  centroids(const troupe::data_set& data, std::uint64_t samples) {
    const auto block = troupe::get(data.read({0, samples}));
    const at::Tensor pixels = block.inputs.only().flatten(1);
    const at::Tensor members = at::one_hot(block.labels.only(), data.classes()).to(at::kFloat);
    means_ = members.t().matmul(pixels) / members.sum(0).unsqueeze(1);
    offsets_ = means_.square().sum(1) / 2;
  }

  [[nodiscard]] at::Tensor scores(const at::Tensor& images) const {
    return at::log_softmax(images.flatten(1).matmul(means_.t()) - offsets_, 1);
  }

 private:
  at::Tensor means_;
  at::Tensor offsets_;
};

}  // namespace examples
