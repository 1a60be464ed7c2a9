#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <pthread.h>
#include <sys/socket.h>

#include "runtime/link/link_core.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

constexpr const char* place = "control plane";

/// Handlers of the program around it run in its own threads; faults are this one's.
void block_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) ::sigdelset(&set, fault);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

link_core::link_core(const liveness& asked)
    : times{limits::link_first_word_timeout, asked.heartbeat(), asked.timeout, limits::wire_message_bytes_max} {}

expected<void> link_core::run() {
  return start_thread(place,
                      [this] {
                        block_signals();
                        io.run();
                      })
      .map([this](std::thread&& started) { thread = std::move(started); });
}

void link_core::know(const std::shared_ptr<link_end>& end) {
  const std::lock_guard lock{mutex};
  std::erase_if(ends, [](const auto& each) { return each.expired(); });
  ends.push_back(end);
}

std::shared_ptr<connection> link_core::add(wire_socket socket, std::shared_ptr<connection_role> role) {
  auto on_end = [this](connection& ended) { connections.erase(ended.shared_from_this()); };
  auto added =
      std::make_shared<connection>(plain_stream(std::move(socket)), times, traffic, std::move(role), std::move(on_end));
  connections.insert(added);
  return added;
}

void link_core::stop() noexcept {
  io.stop();
  if (thread.joinable()) thread.join();
  while (!connections.empty()) {
    const auto next = *connections.begin();
    next->drop();
  }
  const std::lock_guard lock{mutex};
  for (const auto& each : ends) {
    if (const auto end = each.lock()) end->cut();
  }
}

expected<std::unique_ptr<link_loop>> link_loop::create(const liveness& times) {
  auto core = std::make_shared<link_core>(times);
  if (auto running = core->run(); !running) return tl::make_unexpected(running.error());
  return std::unique_ptr<link_loop>(new link_loop(std::move(core)));
}

link_loop::~link_loop() {
  core_->stop();
}

std::shared_ptr<message_link> link_loop::open(unique_fd socket, link_side side) {
  auto made = std::make_shared<link_end>(core_, std::move(socket), side);
  core_->know(made);
  return made;
}

expected<std::pair<unique_fd, unique_fd>> make_link_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(error_code::process_failed, place, "socketpair: " + errno_text(),
                "raise the limit of open files (ulimit -n)");
  }
  return std::pair(unique_fd(ends[0]), unique_fd(ends[1]));
}

}  // namespace troupe
