#include "runtime/schedule/inference_schedule.hpp"

#include <utility>

#include "messages/check.hpp"

namespace troupe {

schedule_step inference_schedule::step(std::uint64_t t) const {
  TROUPE_CHECK(t < num_steps(), "a schedule is asked for its own steps only");
  const std::int64_t current = static_cast<std::int64_t>(t) - stage_id();
  const std::int64_t previous = current - 1;

  schedule_step result;
  if ((is_first_stage() || is_last_stage()) && valid(current)) {
    result.push_back({instruction_kind::load_micro_batch, buffer_of(current)});
  }
  schedule_step exchange;
  if (!is_last_stage() && valid(previous)) {
    exchange.push_back({instruction_kind::send_activation, buffer_of(previous)});
  }
  if (!is_first_stage() && valid(current)) {
    exchange.push_back({instruction_kind::recv_activation, buffer_of(current)});
  }
  const bool receives_first = stage_id() % 2 == 1;
  if (receives_first && exchange.size() == 2) {
    std::swap(exchange.front(), exchange.back());
  }
  result.insert(result.end(), exchange.begin(), exchange.end());
  if (valid(current)) {
    result.push_back({instruction_kind::forward_pass, buffer_of(current)});
  }
  return result;
}

}  // namespace troupe
