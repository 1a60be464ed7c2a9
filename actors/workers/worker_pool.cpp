#include <algorithm>
#include <csignal>
#include <utility>

#include <troupe/actors/link/control_link.hpp>
#include <troupe/actors/workers/wire_codec.hpp>
#include <troupe/actors/workers/worker_claims.hpp>
#include <troupe/actors/workers/worker_pool.hpp>
#include <troupe/messages/limits.hpp>

namespace troupe {
namespace {

/// A program that is no worker ends by itself, or goes on without a hello until the pool kills it.
error ended_early(const worker_process& process, const exit_report& report) {
  const std::string reason = process.killed_for();
  const bool was_killed = report.kind == exit_kind::signalled && report.value == SIGKILL && reason.empty();
  return {error_code::process_failed, process.name(),
          "a worker ended before it said hello: " +
              (reason.empty() ? report.describe() : report.describe(reason + ", and was killed")),
          was_killed
              ? "find out who killed it: the kernel's log names processes that took too much memory"
              : "call troupe::program, or the command line, in main() of this program; see its last lines, if any"};
}

/// What one worker finds at the other end of its link, as long as its process is known.
wire_actor::behavior_type entrance(wire_actor::pointer self, const worker_pool_actor& pool,
                                   const std::shared_ptr<worker_process>& process) {
  self->monitor(pool);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  return {[self, address = pool.address(), process](const wire_message& message) {
    const auto to = caf::actor_cast<caf::strong_actor_ptr>(address);
    if (!to || !self->current_sender()) return;
    tell(self, caf::actor_cast<worker_pool_actor>(to),
         worker_said{process, caf::actor_cast<wire_actor>(self->current_sender()), message});
  }};
}

}  // namespace

worker_pool_actor::behavior_type worker_pool(worker_pool_actor::stateful_pointer<worker_pool_state> self,
                                             std::shared_ptr<worker_launcher> launcher,
                                             std::chrono::milliseconds patience, bool has_tcp_edges) {
  self->state.launcher = std::move(launcher);
  self->state.patience = patience;
  self->state.has_tcp_edges = has_tcp_edges;
  return self->state.behavior();
}

worker_pool_actor::behavior_type worker_pool_state::behavior() {
  return {
      [this](const worker_said& what) { hello(what); },     [this](const want_worker& wanted) { want(wanted); },
      [this](const worker_exited& what) { exited(what); },  [this](const hello_late& what) { late(what); },
      [this](const hello_overdue& what) { overdue(what); },
  };
}

/// Once.
void worker_pool_state::hello(const worker_said& what) {
  static_cast<void>(dispatch<worker_hello>(what.message, [&](const worker_hello& said) {
    const auto found = workers.find(what.process);
    if (found == workers.end()) return;
    const hello_facts known{what.process->pid(), has_tcp_edges, !found->second.has_said_hello()};
    if (const auto wrong = objection_to(said, known)) return what.process->kill(lie(*wrong));
    found->second.now = worker::phase::spare;
    found->second.actor = what.actor;
    found->second.edge_port = said.edge_port;
    failed_starts = 0;
    give();
    launch_missing();
  }));
}

void worker_pool_state::want(const want_worker& wanted) {
  waiting.push_back(wanted.face);
  give();
  launch_missing();
}

void worker_pool_state::give() {
  for (auto& [process, one] : workers) {
    if (waiting.empty()) return;
    if (one.now != worker::phase::spare) continue;
    one.now = worker::phase::given;
    one.face = std::move(waiting.front());
    waiting.pop_front();
    tell(self, one.face, worker_given{process, one.actor, one.edge_port});
  }
}

/// Those that are waited for first; a spare only when nobody waits, so that it does not slow them down. Each one that
/// is waited for is started anew once: if all are late, the machine is slow, and would only be slower.
void worker_pool_state::launch_missing() {
  std::size_t coming = 0;
  std::size_t late = 0;
  for (const auto& [process, one] : workers) {
    if (one.now != worker::phase::given) ++(one.now == worker::phase::late ? late : coming);
  }
  const std::size_t wanted = waiting.empty() ? limits::worker_spares : waiting.size();
  const std::size_t most = 2 * wanted;
  if (wanted <= coming || most <= coming + late) return;
  std::size_t missing = std::min(wanted - coming, most - coming - late);
  while (missing > 0 && launch()) --missing;
}

bool worker_pool_state::launch() {
  const caf::actor_addr address = self->address();
  auto made = launcher->launch([address](const std::shared_ptr<worker_process>& process, const exit_report& report) {
    if (auto pool = caf::actor_cast<caf::strong_actor_ptr>(address)) {
      caf::anon_send(caf::actor_cast<worker_pool_actor>(pool), worker_exited{process, report});
    }
  });
  if (!made) {
    refuse_all(made.error());
    return false;
  }
  const std::shared_ptr<worker_process>& process = made->process;
  const auto at =
      workers.insert_or_assign(process, worker{self->spawn(entrance, worker_pool_actor{self}, process)}).first;
  offer_link(self->system(), std::move(made->link), at->second.entrance);
  tell_after(self, patience, worker_pool_actor{self}, hello_late{process});
  tell_after(self, limits::worker_hello_timeout, worker_pool_actor{self}, hello_overdue{process});
  return true;
}

void worker_pool_state::exited(const worker_exited& what) {
  const auto found = workers.find(what.process);
  if (found == workers.end()) return;
  const worker ended = std::move(found->second);
  workers.erase(found);
  self->send_exit(ended.entrance, caf::exit_reason::user_shutdown);
  if (ended.now == worker::phase::given) return tell(self, ended.face, what);
  if (!ended.has_said_hello() && ++failed_starts >= limits::worker_failed_starts_max) {
    return refuse_all(ended_early(*what.process, what.report));
  }
  launch_missing();
}

/// It may still come, and is as welcome then. One that nobody waits for is not replaced: it would be one spare more
/// on a machine that is slow enough.
void worker_pool_state::late(const hello_late& what) {
  const auto found = workers.find(what.process);
  if (found == workers.end() || found->second.now != worker::phase::starting) return;
  found->second.now = worker::phase::late;
  if (!waiting.empty()) launch_missing();
}

void worker_pool_state::overdue(const hello_overdue& what) {
  const auto found = workers.find(what.process);
  if (found != workers.end() && !found->second.has_said_hello()) {
    what.process->kill("it said no hello for " + std::to_string(limits::worker_hello_timeout.count()) + " s");
  }
}

void worker_pool_state::refuse_all(const error& cause) {
  for (const remote_stage_actor& each : std::exchange(waiting, {})) tell(self, each, no_worker{cause});
}

}  // namespace troupe
