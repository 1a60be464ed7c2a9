#include "program/launch/run_hosts.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "messages/limits.hpp"
#include "program/launch/launched_nodes.hpp"
#include "runtime/local_host/local_host.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {

void run_hosts::refresh_telemetry(std::chrono::steady_clock::time_point deadline) const {
  for (const auto& each : all) each->refresh_telemetry(deadline);
}

void run_hosts::close() noexcept {
  for (const auto& each : all) each->close();
}

bool run_hosts::stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  std::vector<std::uint8_t> ended(all.size(), 0);
  const auto stop_one = [&](std::size_t host) { ended[host] = all[host]->stop(deadline, grace) ? 1 : 0; };
  std::vector<std::thread> threads;
  for (std::size_t host = 1; host < all.size(); ++host) {
    auto thread = start_thread("stop", [&stop_one, host] { stop_one(host); });
    if (thread) {
      threads.push_back(std::move(*thread));
    } else {
      stop_one(host);
    }
  }
  if (!all.empty()) stop_one(0);
  for (std::thread& each : threads) each.join();
  return std::ranges::all_of(ended, [](std::uint8_t one) { return one == 1; });
}

bool end_workers(run_hosts& hosts, const std::future<void>& stopped, std::chrono::steady_clock::time_point deadline) {
  using std::chrono::steady_clock;
  const auto has_stopped_by = [&](steady_clock::time_point at) {
    return stopped.wait_until(at) == std::future_status::ready;
  };
  const bool in_order = has_stopped_by(deadline - limits::worker_reap_time);
  // No more of them; those whose stage has not stopped are lost to the director now, which then ends the run.
  hosts.close();
  const bool ended = hosts.stop(deadline, in_order ? limits::worker_stop_grace : std::chrono::milliseconds{0});
  // The director waits for the news of their ends, which a machine with too much to do brings late.
  if (!ended) static_cast<void>(hosts.stop(steady_clock::now() + limits::worker_reap_time_at_exit, {}));
  return has_stopped_by(std::max(deadline, steady_clock::now() + limits::worker_reap_time));
}

expected<run_hosts> open_hosts(launched_nodes* launch, const wiring_plan& plan, const worker_setup& workers,
                               log_function log) {
  if (launch != nullptr) return launch->open_hosts(plan, workers, std::move(log));
  return local_host::create({.times = {workers.asked.timeout},
                             .log = std::move(log),
                             .environment = workers.environment,
                             .from = workers.from,
                             .around_link = workers.faults ? workers.faults->around_links() : nullptr})
      .map([](std::shared_ptr<local_host>&& made) {
        return run_hosts{.all = {std::move(made)}, .find = [](stage_address) { return std::size_t{0}; }};
      });
}

}  // namespace troupe
