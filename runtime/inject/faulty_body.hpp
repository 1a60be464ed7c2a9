#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/flow/engine_body.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// A fault with its position in the plan.
struct numbered_fault {
  std::size_t number = 0;
  fault what;
};

/// How a process does to itself what no caller survives. Replaced by tests.
struct fatal_acts {
  std::function<void()> kill;
  /// Freezes until something thaws it: after so many seconds, or never.
  std::function<void(std::optional<std::chrono::nanoseconds> lasts)> freeze;
  std::function<void()> leave;
  /// With SIGKILL, SIGSTOP and _exit. A frozen process is thawed by a child that it forks.
  [[nodiscard]] static fatal_acts of_this_process();
};

/// Faults in the work of a stage: it throws, is slow, has no memory, or ends or freezes its process.
/// `on_injected` is called before the fault takes effect; of a fault that is injected once, it decides whether it still
/// is. `lot`: the incarnation in the upper half, the replica in the lower one: a fault drawn once is not drawn for
/// ever.
class body_faults {
 public:
  /// `once`: the fault is injected once in a run; false then means that it was.
  using injected_function = std::function<bool(std::size_t number, bool once, micro_batch_id at)>;

  body_faults(std::vector<numbered_fault> faults, std::uint64_t lot, injected_function on_injected,
              fatal_acts acts = fatal_acts::of_this_process());

  /// Called before the forward of this micro-batch, of the training's step if it is one. A second attempt at it meets
  /// none.
  void meet(micro_batch_id at, std::optional<std::uint64_t> step = std::nullopt);
  /// At a moment of a step, but apply.
  void meet(fault_trigger_kind moment, micro_batch_id at, std::uint64_t step);
  /// Runs `work`, and injects meanwhile the faults of the moment `apply`: at a time drawn within `usual_time`, or at
  /// the end of `work` if that is earlier.
  void meet_within(micro_batch_id at, std::uint64_t step, std::chrono::nanoseconds usual_time,
                   const std::function<void()>& work);
  /// The stage is served by another worker than at first.
  [[nodiscard]] bool are_of_successor() const noexcept { return lot_ >> 32U != 0; }

 private:
  [[nodiscard]] bool is_due(const numbered_fault& one, micro_batch_id at, std::optional<std::uint64_t> step);
  void inject(const numbered_fault& one, micro_batch_id at);

  const std::vector<numbered_fault> faults_;
  const std::uint64_t lot_;
  const injected_function on_injected_;
  const fatal_acts acts_;
  /// The micro-batch that faults have seen last.
  std::optional<micro_batch_id> seen_;
};

/// A stage that evaluates, with faults.
class faulty_body final : public stage_body {
 public:
  faulty_body(std::shared_ptr<stage_body> inner, body_faults faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  void on_start() override { inner_->on_start(); }
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override {
    faults_.meet(inputs.front().id);
    return inner_->run(inputs, outputs);
  }
  [[nodiscard]] std::shared_ptr<context_event> outputs_ready() override { return inner_->outputs_ready(); }

 private:
  const std::shared_ptr<stage_body> inner_;
  body_faults faults_;
};

/// A stage that trains, with faults.
class faulty_training_body final : public training_body {
 public:
  faulty_training_body(std::shared_ptr<training_body> inner, body_faults faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  void on_start() override;
  [[nodiscard]] std::uint64_t steps() const noexcept override { return inner_->steps(); }
  [[nodiscard]] expected<void> forward(const activation& input, activation& output) override;
  [[nodiscard]] expected<void> evaluate(const activation& input, activation& output) override;
  [[nodiscard]] expected<payload_ptr> backward(micro_batch_id id, const payload_ptr& gradient) override;
  [[nodiscard]] expected<payload_ptr> sum_of_gradients() override { return inner_->sum_of_gradients(); }
  [[nodiscard]] expected<payload_ptr> tied_sums() override { return inner_->tied_sums(); }
  [[nodiscard]] expected<void> finish(call_number call, std::span<const payload_ptr> sums,
                                      std::span<const payload_ptr> tied, step_vote& into) override;
  [[nodiscard]] expected<void> apply(const step_decision& decision) override;
  void drop() noexcept override;

 private:
  const std::shared_ptr<training_body> inner_;
  body_faults faults_;
  /// The step of which the stage has worked on something, until the step is carried out or begun anew.
  std::optional<micro_batch_id> in_step_;
  /// How long the last decision took to be carried out.
  std::chrono::nanoseconds time_of_apply_{20'000};
};

}  // namespace troupe
