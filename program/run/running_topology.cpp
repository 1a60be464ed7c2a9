#include "program/run/running_topology.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "actors/actor_config.hpp"
#include "actors/director.hpp"
#include "actors/engine_threads.hpp"
#include "actors/local_stages.hpp"
#include "actors/workers/worker_stages.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/launch/run_hosts.hpp"
#include "program/run/fault_victims.hpp"
#include "runtime/inject/watched_host.hpp"
#include "runtime/telemetry/lost_work_watch.hpp"
#include "runtime/telemetry/stall_watch.hpp"

namespace troupe {
// Members are destroyed from the last to the first: engines go before the actors' system, and that before what both
// use.
struct running_topology::impl {
  explicit impl(assembly made) : engines(std::make_shared<assembly>(std::move(made))) {}

  std::shared_ptr<assembly> engines;
  std::shared_ptr<report_box> reports = std::make_shared<report_box>();
  /// Null without a fault plan.
  std::shared_ptr<fault_injector> faults;
  stall_watch stalls;
  std::optional<lost_work_watch> losses;
  /// Null without worker processes.
  std::shared_ptr<worker_setup> workers;
  run_hosts hosts;
  std::shared_ptr<worker_registry> registry = std::make_shared<worker_registry>();
  std::shared_ptr<engine_threads> threads;
  std::promise<void> stopped_promise;
  std::future<void> stopped = stopped_promise.get_future();
  actor_config config;
  std::unique_ptr<caf::actor_system> system;
  /// By position in `hosts`.
  std::vector<worker_pool_actor> pools;
  director_actor director;

  void direct(std::shared_ptr<stage_provider> provider);
  void obey_faults(director_options& options);
  [[nodiscard]] expected<void> open_to_workers(launched_nodes* launch);
  [[nodiscard]] pool_finder find_pools() const;
  [[nodiscard]] bool stop(std::chrono::steady_clock::time_point deadline);
};

void running_topology::impl::direct(std::shared_ptr<stage_provider> provider) {
  // Who is silent is replaced, and its successor opens the call: the request must outlast that.
  const std::chrono::nanoseconds silence = workers ? workers->asked.timeout : std::chrono::nanoseconds{0};
  losses.emplace(workers ? silence + limits::lost_work_margin : limits::lost_work_time);
  director_options options{.engines = engines,
                           .ledger = std::make_shared<fold_ledger>(engines->ledger_options()),
                           .host = threads,
                           .provider = std::move(provider),
                           .reports = reports,
                           .steps = engines->steps,
                           .request_timeout = std::max<std::chrono::nanoseconds>(
                               limits::control_request_timeout, silence + limits::control_request_margin),
                           .on_stopped = [this] { stopped_promise.set_value(); }};
  if (faults) obey_faults(options);
  director = system->spawn(troupe::director, std::move(options));
}

void running_topology::impl::obey_faults(director_options& options) {
  const auto victims = std::make_shared<fault_victims>();
  options.on_child = [victims](const caf::actor& child) { victims->put(child); };
  options.on_recovered = [to = faults](const recovery_note& note) { to->recovered(note); };
  faults->act_by({.end_actor = [victims](fault_target_kind which) { victims->end(which); },
                  .end_driver = [] { ::kill(::getpid(), SIGKILL); },
                  .hurt_node = hosts.hurt_node});
}

std::unique_ptr<running_topology> running_topology::start(assembly engines, std::shared_ptr<fault_injector> faults) {
  auto state = std::make_unique<impl>(std::move(engines));
  state->faults = std::move(faults);
  state->system = std::make_unique<caf::actor_system>(state->config);
  state->threads = std::make_shared<engine_threads>();
  state->direct(std::make_shared<local_stages>(state->engines, state->threads));
  return std::unique_ptr<running_topology>(new running_topology(std::move(state)));
}

expected<std::unique_ptr<running_topology>> running_topology::start(assembly engines,
                                                                    std::shared_ptr<worker_setup> workers,
                                                                    launched_nodes* launch) {
  auto state = std::make_unique<impl>(std::move(engines));
  state->workers = std::move(workers);
  state->faults = state->workers->faults;
  state->threads = std::make_shared<engine_threads>(!state->workers->edges->has_thread());
  TROUPE_TRY(state->open_to_workers(launch));
  state->direct(std::make_shared<worker_stages>(state->engines, state->threads, state->workers, state->registry,
                                                state->find_pools()));
  return std::unique_ptr<running_topology>(new running_topology(std::move(state)));
}

expected<void> running_topology::impl::open_to_workers(launched_nodes* launch) {
  hosts = TROUPE_TRY(open_hosts(launch, engines->plan, *workers,
                                [reports = reports](log_record record) { reports->put(std::move(record)); }));
  if (faults) {
    for (auto& each : hosts.all) each = std::make_shared<watched_host>(each, faults);
  }
  system = std::make_unique<caf::actor_system>(config);
  const auto patience = std::max(limits::worker_hello_patience, workers->asked.timeout);
  for (const auto& each : hosts.all) pools.push_back(system->spawn(worker_pool, each, patience, workers->edges));
  return {};
}

pool_finder running_topology::impl::find_pools() const {
  return [pools = pools, find = hosts.find](stage_address at) {
    return find(at).map([&](std::size_t host) { return pools[host]; });
  };
}

running_topology::running_topology(std::unique_ptr<impl> state)
    : engines_(state->engines), reports_(state->reports), faults_(state->faults), impl_(std::move(state)) {}

running_topology::~running_topology() {
  if (faults_) faults_->stop();
  static_cast<void>(stop(stop_mode::abort, limits::stop_timeout));
}

std::future<call_outcome> running_topology::submit(const call_ticket_ptr& ticket) {
  auto outcome = ticket->done.get_future();
  const std::lock_guard lock{entrance_};
  if (closed_) {
    call_outcome refused;
    refused.tally.cancelled = true;
    refused.cause = error{error_code::engine_stopped, "pipeline", "it was stopped", "start a new one"};
    ticket->done.set_value(std::move(refused));
  } else {
    if (faults_) {
      ticket->source = faults_->wrap(ticket->source, ticket->start.first());
      if (!ticket->folds.empty()) ticket->folds.front() = faults_->wrap(ticket->folds.front());
    }
    post(impl_->director, open_ticket{ticket});
  }
  return outcome;
}

void running_topology::cut_calls() {
  if (impl_) post(impl_->director, troupe::cut_calls{});
}

void running_topology::cancel(const call_ticket_ptr& ticket, const error& cause) {
  if (impl_) post(impl_->director, cancel_ticket{ticket, cause});
}

void running_topology::request_stop(stop_mode mode) {
  const std::lock_guard lock{entrance_};
  closed_ = true;
  if (impl_) post(impl_->director, stop_request{mode});
}

void running_topology::watch() {
  const std::unique_lock looking{looking_, std::try_to_lock};
  if (!looking || !impl_) return;
  if (faults_) faults_->look();
  const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  for (const stall& each : impl_->stalls.new_stalls(*engines_->accounts, steady_now())) {
    reports_->put(
        {.level = log_level::warning,
         .text = fmt::format("{} seems stalled: its forward of {} has taken {:.1f} s, the median is {:.3f} s",
                             each.stage.name, to_string(each.working_on), seconds(each.since), seconds(each.median)),
         .stage = each.stage.name});
  }
  loader_engine& loader = *engines_->loader;
  if (const auto lost = impl_->losses->look(loader.low_water(), loader.sent(), *engines_->accounts, steady_now())) {
    post(impl_->director,
         work_lost{*lost, steady_now(), impl_->hosts.refused_lately ? impl_->hosts.refused_lately() : std::string()});
  }
  if (!impl_->workers || !impl_->workers->asked.forward_deadline) return;
  const auto limit = *impl_->workers->asked.forward_deadline;
  // Before the forwards are looked at: who takes a stage after that has no part in them.
  const auto assigned = impl_->registry->all();
  for (const stall& each : impl_->stalls.longer_than(limit, *engines_->accounts, steady_now())) {
    const auto worker = assigned.find(each.stage.address);
    if (worker == assigned.end()) continue;
    worker->second.worker->kill(
        fmt::format("its forward of {} took longer than {} s", to_string(each.working_on), seconds(limit)));
  }
}

expected<std::size_t> running_topology::read_state(stage_address at, const blob& memory, std::uint64_t offset,
                                                   std::span<std::byte> into) const {
  const auto worker = impl_ ? impl_->registry->at(at) : std::nullopt;
  return worker ? worker->worker->read_back(memory, offset, into) : memory.read(offset, into);
}

std::vector<stage_usage> running_topology::usage() {
  if (impl_) impl_->hosts.refresh_telemetry(std::chrono::steady_clock::now() + limits::telemetry_wait_max);
  return engines_->accounts->usage();
}

bool running_topology::stop(stop_mode mode, std::chrono::nanoseconds at_most) {
  if (!impl_) return true;
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  if (faults_) faults_->stop();
  request_stop(mode);
  const bool stopped = impl_->stop(deadline);
  if (faults_ && stopped) faults_->forget_workers();
  const std::lock_guard ending{looking_};
  if (stopped) {
    impl_.reset();
  } else {
    static_cast<void>(impl_.release());  // a stuck thread may still use its members
  }
  return stopped;
}

bool running_topology::impl::stop(std::chrono::steady_clock::time_point deadline) {
  const bool has_stopped = hosts.all.empty() ? stopped.wait_until(deadline) == std::future_status::ready
                                             : end_workers(hosts, stopped, deadline);
  // Each engine has told its end before, and its thread does nothing more.
  const bool joined =
      has_stopped && threads->join(std::max(deadline, std::chrono::steady_clock::now() + limits::worker_reap_time));
  if (joined) {
    for (const worker_pool_actor& each : pools) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
  }
  return joined;
}

}  // namespace troupe
