#pragma once

#include "runtime/schedule/pipe_schedule.hpp"

namespace troupe {

/// No pipeline: each of `stages` copies of the whole model loads, computes forward and backward, and the last step
/// reduces the gradients and steps the optimizer, as DeepSpeed's DataParallelSchedule. The steps are the same for every
/// stage_id.
class data_parallel_schedule final : public pipe_schedule {
 public:
  using pipe_schedule::pipe_schedule;

  [[nodiscard]] schedule_kind kind() const noexcept override { return schedule_kind::data_parallel; }
  [[nodiscard]] std::uint32_t num_pipe_buffers() const noexcept override { return 1; }
  [[nodiscard]] std::uint64_t num_steps() const noexcept override { return micro_batches(); }
  [[nodiscard]] schedule_step step(std::uint64_t t) const override;
};

}  // namespace troupe
