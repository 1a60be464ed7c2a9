#include "actors/workers/worker_launcher.hpp"

#include <utility>

#include "actors/link/control_link.hpp"
#include "runtime/process/own_arguments.hpp"
#include "runtime/process/worker_environment.hpp"

namespace troupe {
namespace {

constexpr worker_environment numbers{.channel = 3, .link = 4};

}  // namespace

expected<std::unique_ptr<worker_launcher>> worker_launcher::create(log_function log) {
  auto host = process_host::create();
  if (!host) return tl::make_unexpected(host.error());
  return std::unique_ptr<worker_launcher>(new worker_launcher(std::move(*host), std::move(log)));
}

worker_launcher::worker_launcher(std::unique_ptr<process_host> host, log_function log)
    : log_(std::move(log)), arguments_(own_arguments()), host_(std::move(host)) {}

expected<launched_worker> worker_launcher::launch(
    std::function<void(const std::shared_ptr<worker_process>&, const exit_report&)> on_exit) {
  if (closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
  auto channel = fd_channel::make();
  if (!channel) return tl::make_unexpected(channel.error());
  auto link = make_link();
  if (!link) return tl::make_unexpected(link.error());

  const std::uint32_t rank = launched_++;
  const std::string name = "worker " + std::to_string(rank);
  auto made = std::make_shared<worker_process>(name, std::move(channel->first), *host_, rank);
  made->listen({.on_line = log_,
                .on_exit = [this, weak = std::weak_ptr(made), on_exit = std::move(on_exit)](const exit_report& report) {
                  const auto self = weak.lock();
                  if (!self) return;
                  log_end(*self, report);
                  on_exit(self, report);
                }});
  const auto id = host_->start(request(name, std::move(channel->second), std::move(link->second)), made);
  if (!id) return tl::make_unexpected(id.error());
  made->started(*id);
  if (const auto pid = made->pid()) made->log(log_level::debug, *pid, "was started");
  return launched_worker{std::move(made), std::move(link->first)};
}

/// The end of a worker with a stage is told with its stage, and all of them end with the run.
void worker_launcher::log_end(worker_process& ended, const exit_report& report) const {
  if (!closed_ && !ended.has_stage()) ended.log_end(report, "ended before it had a stage");
}

spawn_request worker_launcher::request(std::string name, unique_fd channel, unique_fd link) const {
  spawn_request made{
      .name = std::move(name), .arguments = arguments_, .environment = {{worker_variable, encode(numbers)}}, .fds = {}};
  made.fds.push_back({std::move(channel), numbers.channel});
  made.fds.push_back({std::move(link), numbers.link});
  return made;
}

bool worker_launcher::stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  return host_->stop(deadline, grace);
}

}  // namespace troupe
