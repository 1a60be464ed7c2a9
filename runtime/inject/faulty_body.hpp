#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/flow/stage_body.hpp"
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

/// A stage with faults of its forward: throws, is slow, has no memory, or ends or freezes its process, before the
/// forward of the micro-batch in question. `on_injected` is called before the fault takes effect; of a fault that is
/// injected once, it decides whether it still is. `lot`: differs between incarnations, so that a fault drawn once is
/// not drawn for ever.
class faulty_body final : public stage_body {
 public:
  /// `once`: the fault is injected once in a run; false then means that it was.
  using injected_function = std::function<bool(std::size_t number, bool once, micro_batch_id at)>;

  faulty_body(std::shared_ptr<stage_body> inner, std::vector<numbered_fault> faults, std::uint64_t lot,
              injected_function on_injected, fatal_acts acts = fatal_acts::of_this_process());

  void on_start() override { inner_->on_start(); }
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;
  [[nodiscard]] std::shared_ptr<context_event> outputs_ready() override { return inner_->outputs_ready(); }

 private:
  [[nodiscard]] bool is_due(const numbered_fault& one, micro_batch_id at);
  void inject(const numbered_fault& one, micro_batch_id at);

  const std::shared_ptr<stage_body> inner_;
  const std::vector<numbered_fault> faults_;
  const std::uint64_t lot_;
  const injected_function on_injected_;
  const fatal_acts acts_;
  /// The micro-batch that faults have seen last: a second attempt at it meets none.
  std::optional<micro_batch_id> seen_;
};

}  // namespace troupe
