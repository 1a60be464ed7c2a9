#pragma once

#include "runtime/schedule/pipe_schedule.hpp"

namespace troupe {

/// One forward, one backward, as DeepSpeed's TrainSchedule: forward and backward steps alternate, even stages start
/// with a forward step and odd ones with a backward step, so that neighbours always face each other with opposite
/// steps. The earlier the stage, the more forwards wait for their backward, and the more buffers it needs. The last
/// step reduces the gradients and steps the optimizer.
class train_schedule final : public pipe_schedule {
 public:
  using pipe_schedule::pipe_schedule;

  [[nodiscard]] schedule_kind kind() const noexcept override { return schedule_kind::train; }
  /// max(2, min(stages - stage_id, micro_batches)).
  [[nodiscard]] std::uint32_t num_pipe_buffers() const noexcept override;
  [[nodiscard]] std::uint64_t num_steps() const noexcept override { return 2 * (micro_batches() + stages() - 1); }
  [[nodiscard]] schedule_step step(std::uint64_t t) const override;

 private:
  [[nodiscard]] bool is_forward_step(std::uint64_t t) const noexcept { return t % 2 == stage_id() % 2; }
  /// Which micro-batch step t computes, forward or backward; not valid() where it computes none.
  [[nodiscard]] std::int64_t micro_batch_at(std::uint64_t t) const noexcept;
};

}  // namespace troupe
