#include "runtime/link/link_thread.hpp"

#include <csignal>
#include <utility>

#include <pthread.h>

#include "runtime/link/link_end.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

/// Handlers of the program around it run in its own threads; faults are this one's.
void block_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) ::sigdelset(&set, fault);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

connection_limits limits_of(const liveness& times, std::chrono::milliseconds handshake) {
  return {handshake, times.heartbeat(), times.timeout, limits::wire_message_bytes_max};
}

void link_core::know(const std::shared_ptr<link_end>& end) {
  const std::lock_guard lock{mutex_};
  std::erase_if(ends_, [](const auto& each) { return each.expired(); });
  ends_.push_back(end);
}

void link_core::cut() noexcept {
  const std::lock_guard lock{mutex_};
  for (const auto& each : ends_) {
    if (const auto end = each.lock()) end->cut();
  }
}

link_thread::link_thread(const liveness& asked) : times(asked) {}

expected<void> link_thread::run() {
  return start_thread("control plane",
                      [this] {
                        block_signals();
                        io_.run();
                      })
      .map([this](std::thread&& started) { thread_ = std::move(started); });
}

std::shared_ptr<connection> link_thread::add(std::unique_ptr<wire_stream> stream, const connection_limits& limits,
                                             std::shared_ptr<connection_role> role) {
  auto on_end = [this](connection& ended) { connections_.erase(ended.shared_from_this()); };
  auto added = std::make_shared<connection>(std::move(stream), limits, traffic_, std::move(role), std::move(on_end));
  connections_.insert(added);
  return added;
}

link_thread::~link_thread() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
  while (!connections_.empty()) {
    const auto next = *connections_.begin();
    next->drop();
  }
  core->cut();
}

}  // namespace troupe
