#include "runtime/schedule/train_schedule.hpp"

#include <algorithm>

#include "messages/check.hpp"

namespace troupe {

std::uint32_t train_schedule::num_pipe_buffers() const noexcept {
  const std::uint64_t waiting = std::min<std::uint64_t>(stages() - stage_id(), micro_batches());
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(2, waiting));
}

std::int64_t train_schedule::micro_batch_at(std::uint64_t t) const noexcept {
  const std::int64_t half = static_cast<std::int64_t>(t / 2);
  const std::int64_t s = stage_id();
  if (is_forward_step(t)) {
    return half - s / 2;
  }
  const std::int64_t waiting = s % 2 == 1 ? stages() - (s + 1) / 2 : stages() - 1 - s / 2;
  return half - waiting;
}

schedule_step train_schedule::step(std::uint64_t t) const {
  TROUPE_CHECK(t < num_steps(), "a schedule is asked for its own steps only");
  const bool forward = is_forward_step(t);
  const std::int64_t current = micro_batch_at(t);
  const std::int64_t previous = t == 0 ? -1 : micro_batch_at(t - 1);

  schedule_step result;
  const auto add = [&](bool wanted, std::int64_t micro_batch, instruction_kind what) {
    if (wanted && valid(micro_batch)) {
      result.push_back({what, buffer_of(micro_batch)});
    }
  };
  if (forward) {
    // The buffer that SendGrad empties may be the one that RecvActivation fills.
    add(!is_first_stage(), previous, instruction_kind::send_grad);
    add(!is_first_stage(), current, instruction_kind::recv_activation);
    add(is_first_stage() || is_last_stage(), current, instruction_kind::load_micro_batch);
    add(true, current, instruction_kind::forward_pass);
  } else {
    add(!is_last_stage(), current, instruction_kind::recv_grad);
    add(!is_last_stage(), previous, instruction_kind::send_activation);
    add(true, current, instruction_kind::backward_pass);
  }
  if (t + 1 == num_steps()) {
    result.push_back({instruction_kind::reduce_tied_grads});
    result.push_back({instruction_kind::reduce_grads});
    result.push_back({instruction_kind::optimizer_step});
  }
  return result;
}

}  // namespace troupe
