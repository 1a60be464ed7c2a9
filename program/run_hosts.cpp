#include "program/run_hosts.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "program/launched_nodes.hpp"
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

expected<run_hosts> open_hosts(const wiring_plan& plan, const worker_setup& workers, log_function log) {
  if (auto* const launched = launched_nodes::get()) return launched->open_hosts(plan, workers, std::move(log));
  return local_host::create({.times = {workers.silence_timeout},
                             .log = std::move(log),
                             .around_link = workers.faults ? workers.faults->around_links() : nullptr})
      .map([](std::shared_ptr<local_host>&& made) {
        return run_hosts{.all = {std::move(made)}, .find = [](stage_address) { return std::size_t{0}; }};
      });
}

}  // namespace troupe
