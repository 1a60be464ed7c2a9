#include "runtime/agent_host/agent_worker.hpp"

#include <utility>

namespace troupe {

agent_worker::agent_worker(std::uint32_t rank, log_function log, const std::shared_ptr<node_agent>& agent, blob page,
                           std::shared_ptr<worker_listener> listener, run_state run)
    : hosted_worker("worker " + std::to_string(rank), rank, std::move(log), agent->home()),
      agent_(agent),
      page_(std::move(page)),
      listener_(std::move(listener)),
      run_(std::move(run)) {
  agent->blobs().know_page(page_, rank);
}

agent_worker::~agent_worker() {
  if (const auto agent = agent_.lock()) agent->blobs().forget_page(page_);
}

std::string agent_worker::place() const {
  const auto known = pid();
  return "process " + (known ? std::to_string(*known) : "unknown") + " on " + home().node;
}

std::optional<std::uint32_t> agent_worker::pid() const {
  const std::lock_guard lock{mutex_};
  return pid_;
}

void agent_worker::send(codec::bytes message) {
  const auto agent = agent_.lock();
  if (agent && !agent->send(worker_message{rank(), std::move(message)}))
    kill("a message to it is too large for its node");
}

expected<void> agent_worker::hand_over(const std::string& name, std::span<const blob> blobs) {
  if (name.empty() || name.size() > limits::channel_tag_bytes_max || blobs.size() > limits::channel_fds_max)
    return fail(error_code::wire_too_large, hosted_worker::name(), "blobs that its channel does not take");
  if (const auto agent = agent_.lock()) return agent->hand_over(rank(), name, blobs);
  return fail(error_code::node_lost, hosted_worker::name(), "its node is gone");
}

expected<std::size_t> agent_worker::read_back(const blob& what, std::uint64_t offset, std::span<std::byte> into) {
  if (const auto agent = agent_.lock()) return agent->read_back(what, offset, into);
  return fail(error_code::node_lost, hosted_worker::name(), "its node is gone");
}

stage_telemetry agent_worker::telemetry() const {
  const std::lock_guard lock{mutex_};
  return telemetry_;
}

void agent_worker::end_now() {
  if (const auto agent = agent_.lock()) agent->tell(kill_worker{rank()});
}

bool agent_worker::signal(int number) {
  const auto agent = agent_.lock();
  {
    const std::lock_guard lock{mutex_};
    if (!agent || !pid_ || has_ended_) return false;
  }
  agent->tell(signal_worker{rank(), static_cast<std::uint32_t>(number)});
  return true;
}

void agent_worker::started(std::uint32_t pid) {
  if (pid != 0) {
    const std::lock_guard lock{mutex_};
    pid_ = pid;
  }
  log(log_level::debug, "was started");
}

void agent_worker::said(codec::bytes message) {
  listener_->said(shared_from_this(), std::move(message));
}

void agent_worker::link_lost() {
  listener_->link_lost(shared_from_this());
}

void agent_worker::measured(const stage_telemetry& seen) {
  const std::lock_guard lock{mutex_};
  telemetry_ = seen;
}

void agent_worker::ended(const exit_report& report) {
  {
    const std::lock_guard lock{mutex_};
    has_ended_ = true;
    if (report.pid != 0) pid_ = static_cast<std::uint32_t>(report.pid);
  }
  if (!*run_ && !has_stage()) log_end(report, "ended before it had a stage");
  listener_->exited(shared_from_this(), report);
}

}  // namespace troupe
