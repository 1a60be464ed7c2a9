#include "runtime/agent/agent_workers.hpp"

#include <csignal>
#include <tuple>
#include <utility>

#include "runtime/agent/agent_reports.hpp"
#include "runtime/os/clock.hpp"

namespace troupe {
namespace {

bool is_as_told(const stage_telemetry& one, const stage_telemetry& other) {
  const auto key = [](const stage_telemetry& of) {
    return std::tuple(of.has_begun, of.working_on, of.since, of.median, of.micro_batches, of.samples, of.busy_ns,
                      of.arrived_bytes, of.faults);
  };
  return key(one) == key(other);
}

}  // namespace

template <class Message>
void agent_workers::tell(const Message& message) const {
  if (auto bytes = codec::encode(message)) driver_->send(std::move(*bytes));
}
template void agent_workers::tell(const agent_ready&) const;
template void agent_workers::tell(const agent_refusal&) const;
template void agent_workers::tell(const agent_log&) const;
template void agent_workers::tell(const workers_stopped&) const;
template void agent_workers::tell(const end_asked&) const;
template void agent_workers::tell(const telemetry_told&) const;
template void agent_workers::tell(const file_answer&) const;
template void agent_workers::tell(const blob_part_taken&) const;
template void agent_workers::tell(const blob_read&) const;

hosted_worker_ptr agent_workers::find(std::uint32_t rank) const {
  const std::lock_guard lock{mutex_};
  const auto found = workers_.find(rank);
  return found == workers_.end() || found->second.has_ended ? nullptr : found->second.worker;
}

std::vector<hosted_worker_ptr> agent_workers::all() const {
  const std::lock_guard lock{mutex_};
  std::vector<hosted_worker_ptr> found;
  for (const auto& [rank, one] : workers_) {
    if (!one.has_ended) found.push_back(one.worker);
  }
  return found;
}

void agent_workers::add(const hosted_worker_ptr& worker) {
  const std::lock_guard lock{mutex_};
  entry& one = entry_of(worker);
  one.is_added = true;
  if (one.has_ended) workers_.erase(worker->rank());
}

/// Under the lock; by whichever thread is first.
agent_workers::entry& agent_workers::entry_of(const hosted_worker_ptr& worker) {
  return workers_.try_emplace(worker->rank(), entry{worker}).first->second;
}

/// Before any other news of the worker.
void agent_workers::announce(const hosted_worker_ptr& worker) {
  const std::lock_guard lock{mutex_};
  if (std::exchange(entry_of(worker).is_announced, true)) return;
  tell(worker_started{worker->rank(), worker->pid().value_or(0)});
}

void agent_workers::refuse(std::uint32_t rank, const error& cause) {
  exit_report report;
  report.kind = exit_kind::lost;
  report.note = "it could not be started";
  report.told = cause;
  tell(message_of(report, rank));
}

void agent_workers::tell_telemetry() {
  for (const hosted_worker_ptr& each : all()) {
    const stage_telemetry seen = each->telemetry();
    const std::lock_guard lock{mutex_};
    const auto found = workers_.find(each->rank());
    if (found == workers_.end() || is_as_told(found->second.told, seen)) continue;
    found->second.told = seen;
    tell(message_of(seen, each->rank(), steady_now()));
  }
}

void agent_workers::said(const hosted_worker_ptr& worker, codec::bytes message) {
  announce(worker);
  const auto bytes = codec::encode(worker_message{worker->rank(), std::move(message)});
  if (!bytes) return worker->kill("its message is too large for its node");
  driver_->send(*bytes);
}

void agent_workers::link_lost(const hosted_worker_ptr& worker) {
  announce(worker);
  tell(worker_link_lost{worker->rank()});
}

/// With its last telemetry: what it worked on is needed after its end.
void agent_workers::exited(const hosted_worker_ptr& worker, const exit_report& report) {
  if (report.kind != exit_kind::lost) {
    announce(worker);
    tell(message_of(worker->telemetry(), worker->rank(), steady_now()));
  }
  const bool was_killed = report.kind == exit_kind::signalled && report.value == SIGKILL;
  if (was_killed && !worker->killed_for().empty()) worker->log_end(report, "was ended by its agent");
  const std::lock_guard lock{mutex_};
  tell(message_of(report, worker->rank()));
  entry& one = entry_of(worker);
  one.has_ended = true;
  if (one.is_added) workers_.erase(worker->rank());
  changed_.notify_all();
}

void agent_workers::kill_all() const {
  for (const hosted_worker_ptr& each : all()) each->kill();
}

void agent_workers::wait_for_ends(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  changed_.wait_until(lock, deadline, [&] { return workers_.empty(); });
}

void agent_workers::forget_all() {
  const std::lock_guard lock{mutex_};
  for (const auto& [rank, one] : workers_) {
    exit_report report;
    report.pid = static_cast<pid_t>(one.worker->pid().value_or(0));
    tell(message_of(report, rank));
  }
  workers_.clear();
}

}  // namespace troupe
