#include "runtime/schedule/data_parallel_schedule.hpp"

#include "messages/check.hpp"

namespace troupe {

schedule_step data_parallel_schedule::step(std::uint64_t t) const {
  TROUPE_CHECK(t < num_steps(), "a schedule is asked for its own steps only");
  schedule_step result{
      {instruction_kind::load_micro_batch}, {instruction_kind::forward_pass}, {instruction_kind::backward_pass}};
  if (t + 1 == num_steps()) {
    result.push_back({instruction_kind::reduce_grads});
    result.push_back({instruction_kind::optimizer_step});
  }
  return result;
}

}  // namespace troupe
