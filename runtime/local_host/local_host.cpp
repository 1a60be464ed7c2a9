#include "runtime/local_host/local_host.hpp"

#include <utility>

#include "messages/try.hpp"
#include "runtime/link/numbered_link.hpp"
#include "runtime/os/cores.hpp"
#include "runtime/process/own_arguments.hpp"
#include "runtime/process/worker_environment.hpp"

namespace troupe {
namespace {

constexpr int channel_number = 3;
constexpr int link_number = 4;
constexpr int network_number = 5;

}  // namespace

expected<std::shared_ptr<local_host>> local_host::create(local_host_options options) {
  auto links = TROUPE_TRY(link_loop::create(options.times));
  auto host = TROUPE_TRY(process_host::create());
  if (options.arguments.empty()) options.arguments = own_arguments();
  return std::shared_ptr<local_host>(new local_host(std::move(links), std::move(host), std::move(options)));
}

local_host::local_host(std::unique_ptr<link_loop> links, std::unique_ptr<process_host> host, local_host_options options)
    : options_(std::move(options)), links_(std::move(links)), host_(std::move(host)) {}

expected<hosted_worker_ptr> local_host::start(std::shared_ptr<worker_listener> listener) {
  return start_as(options_.next_rank ? options_.next_rank() : launched_++, std::move(listener));
}

expected<hosted_worker_ptr> local_host::start_as(std::uint32_t rank, std::shared_ptr<worker_listener> listener) {
  if (closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
  const std::uint32_t local_rank = options_.ranks ? options_.ranks->take() : 0;
  auto started = start_on(local_rank, rank, std::move(listener));
  if (!started && options_.ranks) options_.ranks->release(local_rank);
  return started;
}

expected<hosted_worker_ptr> local_host::start_on(std::uint32_t local_rank, std::uint32_t rank,
                                                 std::shared_ptr<worker_listener> listener) {
  inheritance left;
  auto made = TROUPE_TRY(make_worker(local_rank, rank, left));
  const std::shared_ptr<local_worker>& worker = made;
  worker->tell(std::move(listener));
  auto asked = TROUPE_TRY(request(worker->name(), local_rank, std::move(left)));
  host_->start_soon(std::move(asked), worker, [this, worker, local_rank](const expected<worker_id>& id) {
    if (!id) return worker->not_started(id.error());
    worker->started(*id);
    bind(*worker, local_rank);
  });
  return worker;
}

/// Right after exec: it has made no threads yet.
void local_host::bind(const local_worker& started, std::uint32_t local_rank) const {
  const auto pid = started.pid();
  if (!options_.bind_cores || !options_.ranks || !pid) return;
  static_cast<void>(bind_to_share(static_cast<pid_t>(*pid), local_rank, options_.ranks->slots()));
}

/// With its page on its way to it.
expected<std::shared_ptr<local_worker>> local_host::make_worker(std::uint32_t local_rank, std::uint32_t rank,
                                                                inheritance& left) {
  auto ends = TROUPE_TRY(fd_channel::make());
  auto sockets = TROUPE_TRY(make_link_sockets());
  auto page = TROUPE_TRY(shared_page::create());
  auto link = links_->open(std::move(sockets.first), link_side::driver);
  if (options_.around_link) link = options_.around_link(std::move(link), page.page());
  link = number_messages(std::move(link));
  auto made = std::make_shared<local_worker>("worker " + std::to_string(rank), rank, options_.log,
                                             local_worker::parts{.channel = std::move(ends.first),
                                                                 .link = std::move(link),
                                                                 .page = std::move(page),
                                                                 .host = *host_,
                                                                 .on_exit = on_exit(local_rank),
                                                                 .home = options_.home,
                                                                 .logs_start = options_.logs_lives});
  left.channel = std::move(ends.second);
  left.link = std::move(sockets.second);
  const blob memory = *made->page();
  return made->hand_over("page", {&memory, 1}).map([&] { return made; });
}

std::function<void(local_worker&, const exit_report&)> local_host::on_exit(std::uint32_t local_rank) {
  return [this, local_rank](local_worker& ended, const exit_report& how) {
    if (options_.ranks) options_.ranks->release(local_rank);
    log_end(ended, how);
  };
}

/// The end of a worker with a stage is told with its stage, and all of them end with the run.
void local_host::log_end(local_worker& ended, const exit_report& report) const {
  if (options_.logs_lives && !closed_ && !ended.has_stage())
    ended.log_end(report, report.kind == exit_kind::lost ? "does not run" : "ended before it had a stage");
}

expected<spawn_request> local_host::request(std::string name, std::uint32_t local_rank, inheritance left) const {
  const worker_environment numbers{
      .channel = channel_number, .link = link_number, .network = options_.network ? network_number : 0};
  spawn_request made{.name = std::move(name),
                     .program = options_.program,
                     .arguments = options_.arguments,
                     .environment = options_.environment,
                     .fds = {},
                     .from = options_.bind_cores ? nullptr : options_.from};
  if (options_.ranks) {
    for (auto& each : options_.ranks->variables_of(local_rank)) made.environment.push_back(std::move(each));
  }
  made.environment.emplace_back(worker_variable, encode(numbers));
  made.fds.push_back({std::move(left.channel), channel_number});
  made.fds.push_back({std::move(left.link), link_number});
  if (!options_.network) return made;
  return options_.network->duplicate().map([&](unique_fd&& network) {
    made.fds.push_back({std::move(network), network_number});
    return std::move(made);
  });
}

bool local_host::stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  return host_->stop(deadline, grace);
}

}  // namespace troupe
