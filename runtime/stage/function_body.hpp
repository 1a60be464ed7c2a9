#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include <troupe/stage_function.hpp>

namespace troupe {

struct function_body_options {
  stage_context context;
  /// In the order of the ports.
  std::vector<std::string> inputs = {"in"};
  std::vector<std::string> outputs = {"out"};
};

/// A user's stage_function as the body of a stage, with everything that its contract promises: thread count, inference
/// mode, names of the inputs, copies where it may write, cast, output without shared storage. With one input port its
/// tensors keep their names; of several, a tensor is called by its port, or "port.tensor". With one output port that
/// has all tensors that come back; of several, each has the tensor of its name. E0602 in the words of what it threw;
/// also for inputs that hold different samples, a tensor missing for an output, and an undefined tensor.
class function_body final : public stage_body {
 public:
  function_body(std::shared_ptr<stage_function> function, function_body_options options);

  void on_start() override;
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;

 private:
  [[nodiscard]] expected<named_tensors> gather_inputs(std::span<const activation> inputs) const;
  [[nodiscard]] at::Tensor prepared(const at::Tensor& input) const;
  [[nodiscard]] expected<void> hand_out(const named_tensors& made, std::span<activation> outputs) const;

  std::shared_ptr<stage_function> function_;
  function_body_options options_;
};

}  // namespace troupe
