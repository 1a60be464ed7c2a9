#include "runtime/local_host/local_host.hpp"

#include <utility>

#include "runtime/process/own_arguments.hpp"
#include "runtime/process/worker_environment.hpp"

namespace troupe {
namespace {

constexpr worker_environment numbers{.channel = 3, .link = 4};

}  // namespace

expected<std::shared_ptr<local_host>> local_host::create(const liveness& times, log_function log) {
  auto links = link_loop::create(times);
  if (!links) return tl::make_unexpected(links.error());
  auto host = process_host::create();
  if (!host) return tl::make_unexpected(host.error());
  return std::shared_ptr<local_host>(new local_host(std::move(*links), std::move(*host), std::move(log)));
}

local_host::local_host(std::unique_ptr<link_loop> links, std::unique_ptr<process_host> host, log_function log)
    : log_(std::move(log)), arguments_(own_arguments()), links_(std::move(links)), host_(std::move(host)) {}

expected<hosted_worker_ptr> local_host::start(std::shared_ptr<worker_listener> listener) {
  if (closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
  unique_fd channel;
  unique_fd link;
  auto made = make_worker(channel, link);
  if (!made) return tl::make_unexpected(made.error());
  const std::shared_ptr<local_worker>& worker = *made;
  worker->tell(std::move(listener));
  const auto id = host_->start(request(worker->name(), std::move(channel), std::move(link)), worker);
  if (!id) return tl::make_unexpected(id.error());
  worker->started(*id);
  return worker;
}

/// With its page on its way to it. `channel` and `link` become the ends that it inherits.
expected<std::shared_ptr<local_worker>> local_host::make_worker(unique_fd& channel, unique_fd& link) {
  auto ends = fd_channel::make();
  if (!ends) return tl::make_unexpected(ends.error());
  auto sockets = make_link_sockets();
  if (!sockets) return tl::make_unexpected(sockets.error());
  auto page = shared_page::create();
  if (!page) return tl::make_unexpected(page.error());
  const std::uint32_t rank = launched_++;
  auto made = std::make_shared<local_worker>(
      "worker " + std::to_string(rank), rank, log_,
      local_worker::parts{.channel = std::move(ends->first),
                          .link = links_->open(std::move(sockets->first), link_side::driver),
                          .page = std::move(*page),
                          .host = *host_,
                          .on_exit = [this](local_worker& ended, const exit_report& how) { log_end(ended, how); }});
  channel = std::move(ends->second);
  link = std::move(sockets->second);
  const blob memory = *made->page();
  return made->hand_over("page", {&memory, 1}).map([&] { return std::move(made); });
}

/// The end of a worker with a stage is told with its stage, and all of them end with the run.
void local_host::log_end(local_worker& ended, const exit_report& report) const {
  if (!closed_ && !ended.has_stage()) ended.log_end(report, "ended before it had a stage");
}

spawn_request local_host::request(std::string name, unique_fd channel, unique_fd link) const {
  spawn_request made{
      .name = std::move(name), .arguments = arguments_, .environment = {{worker_variable, encode(numbers)}}, .fds = {}};
  made.fds.push_back({std::move(channel), numbers.channel});
  made.fds.push_back({std::move(link), numbers.link});
  return made;
}

bool local_host::stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  return host_->stop(deadline, grace);
}

}  // namespace troupe
