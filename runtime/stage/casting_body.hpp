#pragma once

#include <memory>
#include <utility>

#include <ATen/core/Tensor.h>

#include "runtime/flow/stage_body.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

/// Casts the floating-point tensors of its one input, and leaves the rest to another body. Names of tensors stay.
class casting_body final : public stage_body {
 public:
  casting_body(std::shared_ptr<stage_body> inner, c10::ScalarType dtype) : inner_(std::move(inner)), dtype_(dtype) {}

  void on_start() override { inner_->on_start(); }

  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override {
    activation cast = inputs.front();
    cast.tensors = each_tensor(cast.tensors,
                               [&](const at::Tensor& one) { return one.is_floating_point() ? one.to(dtype_) : one; });
    return inner_->run({&cast, 1}, outputs);
  }

 private:
  std::shared_ptr<stage_body> inner_;
  c10::ScalarType dtype_;
};

}  // namespace troupe
