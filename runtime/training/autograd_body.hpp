#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/flow/training_body.hpp"
#include "runtime/optimizer/trained_parameters.hpp"
#include "runtime/training/running_statistics.hpp"
#include "runtime/training/segment.hpp"
#include "runtime/training/trained_part.hpp"
#include "runtime/training/training_loss.hpp"
#include <troupe/ids.hpp>
#include <troupe/weights.hpp>

namespace troupe {

struct training_body_options {
  /// The number in errors: "stage 2".
  stage_index stage = 0;
  /// How many replicas the stage has. The body need not know which one it is.
  std::uint32_t replicas = 1;
  /// Intra-op threads of the engine's thread, also in the backward pass; at least 1.
  std::uint32_t threads = 1;
  optimizer_options optimizer = {};
  /// The seed of all draws: the same for all stages and replicas.
  std::uint64_t seed = 0;
  /// Activation checkpointing: so many layers are one segment, of which the inputs alone are kept until the backward
  /// pass, which computes it again. Counted from the first layer of the stage. 0: everything is kept.
  std::uint32_t recompute_interval = 0;
  /// Used by the last stage alone.
  training_loss loss = {};
  /// Where weights, moments and gradient are: layout_of() says how many bytes, at a multiple of 64, that outlive the
  /// body. Empty: memory of its own.
  std::span<std::byte> memory = {};
  /// The memory has the state of a body before, which is gone: this one goes on with it.
  bool is_adopted = false;
  /// The memory is read-only while layers compute, as trained_parameters has it.
  bool is_protected = true;
};

/// A part of a model that is trained with LibTorch's autograd.
///
/// The last stage's outputs have two more tensors in forward(): training_loss.hpp. Gradients that stages exchange are
/// without names, one for each floating-point tensor of the activation, in its order. Empty parts have no tensors and
/// no gradients. The loss and all sums are over samples, as docs/decisions/0045 says.
///
/// Errors of forward(), backward() and evaluate(): E0602, which names stage and layer; E0603 for labels that do not fit
/// the loss.
class autograd_body final : public training_body {
 public:
  autograd_body(std::unique_ptr<trained_part> part, std::unique_ptr<trained_parameters> state,
                training_body_options options);

  void on_start() override;
  [[nodiscard]] std::uint64_t steps() const noexcept override { return state_->step(); }
  [[nodiscard]] expected<void> forward(const activation& input, activation& output) override;
  [[nodiscard]] expected<void> evaluate(const activation& input, activation& output) override;
  [[nodiscard]] expected<payload_ptr> backward(micro_batch_id id, const payload_ptr& gradient) override;
  [[nodiscard]] expected<payload_ptr> sum_of_gradients() override;
  [[nodiscard]] expected<payload_ptr> tied_sums() override;
  [[nodiscard]] expected<void> finish(call_number call, std::span<const payload_ptr> sums,
                                      std::span<const payload_ptr> tied, step_vote& into) override;
  [[nodiscard]] expected<void> apply(const step_decision& decision) override;
  void drop() noexcept override;

  // For checkpoints and hashes. On the thread of the engine, between two calls.

  [[nodiscard]] const trained_part& part() const noexcept { return *part_; }
  /// Moments, step and layout.
  [[nodiscard]] const trained_parameters& state() const noexcept { return *state_; }
  /// Parameters, buffers and constants by their names in the model's state dict: views, which the next apply() makes
  /// old.
  [[nodiscard]] state_dict weights() const;
  /// By "NAME.MOMENT", such as "0.weight.exp_avg".
  [[nodiscard]] state_dict moments() const;
  /// What a checkpoint has, by the same names. `moments` may be empty: then they are zero. E0218 names a tensor that is
  /// missing or has another shape; others, and constants, are left alone.
  [[nodiscard]] expected<void> load(const state_dict& weights, const state_dict& moments, std::uint64_t step);

 private:
  /// A micro-batch whose backward pass is to come.
  struct live_batch {
    micro_batch_id id;
    activation input;
    std::vector<segment_record> segments = {};
    double weight = 0;
  };

  [[nodiscard]] std::string where() const;
  [[nodiscard]] std::size_t end_of_segment(std::size_t begin) const;
  [[nodiscard]] std::vector<std::size_t> sums_of(const segment_record& segment) const;
  [[nodiscard]] expected<void> compute(live_batch& batch, std::vector<at::Tensor> values, activation& output);
  [[nodiscard]] expected<std::vector<at::Tensor>> run_back(live_batch& batch, const payload_ptr& gradient);
  void use_current_version();

  std::unique_ptr<trained_part> part_;
  std::unique_ptr<trained_parameters> state_;
  training_body_options options_;
  segment_runner runner_;
  std::deque<live_batch> live_;
  /// What the step has added up so far.
  running_statistics statistics_;
  double weight_ = 0;
};

/// What the memory of such a part has to hold. E0217 for a parameter of a type that is not trained.
expected<parameter_layout> layout_of(const trained_part& part, const optimizer_options& optimizer);

/// E0217; E0614: there is no memory; E0620: the adopted memory has no state of such a part.
expected<std::unique_ptr<autograd_body>> make_training_body(std::unique_ptr<trained_part> part,
                                                            training_body_options options);

}  // namespace troupe
