#include "testing/simulation/simulated_host.hpp"

#include <csignal>
#include <utility>

namespace troupe::simulation {

expected<hosted_worker_ptr> simulated_host::start(std::shared_ptr<worker_listener> listener) {
  if (is_closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
  const auto rank = static_cast<std::uint32_t>(workers_.size());
  around_.seen.note({.at_ns = around_.now.count(), .what = happening::worker_started, .worker = rank + 1});
  auto process = std::make_unique<simulated_process>(rank + 1, around_, std::move(listener));
  simulated_process& made = *process;
  workers_.push_back(std::make_shared<simulated_worker>(rank, nullptr, std::move(process)));
  made.as_seen = workers_.back();
  around_.left.watch(leftover::process, workers_.back());
  const nanoseconds boots = around_.now + nanoseconds{around_.random.between(5'000'000, 60'000'000)};
  if (std::exchange(fails_next_, false)) {
    around_.later.at(boots, [&made] { made.die(exit_cause::by_itself, exit_kind::exited, 1, "it cannot start"); });
  } else {
    around_.later.at(boots + std::exchange(late_by_, nanoseconds{0}), [&made] { made.boot(); });
  }
  return hosted_worker_ptr(workers_.back());
}

simulated_process* simulated_host::at(stage_address where) const {
  for (const auto& each : workers_) {
    simulated_process& process = each->process();
    if (process.lives() && process.assignment() && process.assignment()->address == where) return &process;
  }
  return nullptr;
}

void simulated_host::end_all(exit_cause why) {
  for (const auto& each : workers_) each->process().die(why, exit_kind::signalled, SIGKILL);
}

}  // namespace troupe::simulation
