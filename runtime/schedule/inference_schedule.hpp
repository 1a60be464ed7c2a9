#pragma once

#include "runtime/schedule/pipe_schedule.hpp"

namespace troupe {

/// Forward only, as DeepSpeed's InferenceSchedule: at step t stage s works on micro-batch t - s, and sends the output
/// one step after its forward. Two buffers: one computed, one on its way. Even stages send before they receive and odd
/// stages the other way round, so that blocking transfers pair up. Edge stages load: the first its inputs, the last its
/// labels.
class inference_schedule final : public pipe_schedule {
 public:
  using pipe_schedule::pipe_schedule;

  [[nodiscard]] schedule_kind kind() const noexcept override { return schedule_kind::inference; }
  [[nodiscard]] std::uint32_t num_pipe_buffers() const noexcept override { return 2; }
  [[nodiscard]] std::uint64_t num_steps() const noexcept override { return micro_batches() + stages() - 1; }
  [[nodiscard]] schedule_step step(std::uint64_t t) const override;
};

}  // namespace troupe
