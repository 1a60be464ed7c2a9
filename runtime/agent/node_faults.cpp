#include "runtime/agent/node_faults.hpp"

#include <atomic>
#include <csignal>
#include <vector>

#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/agent/freeze_node.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void die(const std::vector<hosted_worker_ptr>& with) {
  for (const hosted_worker_ptr& each : with) static_cast<void>(each->signal(SIGKILL));
  static_cast<void>(::kill(::getpid(), SIGKILL));
  for (;;) ::pause();
}

expected<void> freeze(const std::vector<hosted_worker_ptr>& with, std::chrono::milliseconds time) {
  std::vector<pid_t> processes = {::getpid()};
  for (const hosted_worker_ptr& each : with) {
    if (const auto pid = each->pid()) processes.push_back(static_cast<pid_t>(*pid));
  }
  return freeze_processes(processes, time);
}

}  // namespace

/// For a time, either way.
class node_faults::silence final : public arrival_faults {
 public:
  void last(steady_clock::time_point until) { until_ = until; }

  [[nodiscard]] damage next_message() noexcept override { return damage::none; }
  [[nodiscard]] bool is_silenced(flow) const noexcept override { return steady_clock::now() < until_.load(); }
  [[nodiscard]] bool is_closed(flow) const noexcept override { return false; }

 private:
  std::atomic<steady_clock::time_point> until_{steady_clock::time_point{}};
};

/// Workers look at their pages.
void node_faults::cut_off(const std::vector<hosted_worker_ptr>& with, std::chrono::milliseconds time) {
  const auto until = steady_clock::now() + time;
  for (const hosted_worker_ptr& each : with) {
    const auto memory = each->page();
    if (!memory) continue;
    const auto page = memory->copy().and_then([](unique_fd&& copy) { return shared_page::adopt(std::move(copy)); });
    if (page) page->page()->cut_off_until.store(until.time_since_epoch() / std::chrono::nanoseconds{1});
  }
  const bool is_first = silence_ == nullptr;
  if (is_first) silence_ = std::make_shared<silence>();
  silence_->last(until);
  if (is_first) driver_->disturb(silence_);
}

expected<void> node_faults::apply(const apply_fault& what, const agent_workers& workers) {
  const std::chrono::milliseconds most = limits::fault_of_node_time_max;
  if (what.with_workers > 1 || what.lasts_ms > static_cast<std::uint64_t>(most.count()))
    return fail(error_code::wire_malformed, "apply_fault", "what no plan has");
  const auto with = what.with_workers == 1 ? workers.all() : std::vector<hosted_worker_ptr>{};
  const std::chrono::milliseconds time{static_cast<std::chrono::milliseconds::rep>(what.lasts_ms)};
  switch (static_cast<node_fault>(what.fault)) {
    case node_fault::kill:
      die(with);
    case node_fault::stop:
      return freeze(with, time);
    case node_fault::partition:
      cut_off(with, time);
      return {};
  }
  return fail(error_code::wire_malformed, "apply_fault", "what no plan has");
}

}  // namespace troupe
