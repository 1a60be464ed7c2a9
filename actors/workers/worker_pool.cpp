#include "actors/workers/worker_pool.hpp"

#include <algorithm>
#include <utility>

#include "actors/link/control_link.hpp"
#include "actors/workers/wire_codec.hpp"
#include "actors/workers/worker_claims.hpp"

namespace troupe {
namespace {

/// A wait that this process's own freeze cannot use up.
template <class Overdue>
void wait_a_slice(worker_pool_actor::pointer self, std::chrono::nanoseconds whole, Overdue what) {
  tell_after(self, whole / limits::wait_slices, worker_pool_actor{self}, std::move(what));
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
                                             worker_source source, std::chrono::milliseconds patience,
                                             bool has_tcp_edges) {
  self->state.source = std::move(source);
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
    budget.hello();
    give();
    launch_missing();
  }));
}

void worker_pool_state::want(const want_worker& wanted) {
  if (waiting.empty()) budget.begin();
  waiting.push_back(wanted.stage);
  give();
  launch_missing();
}

void worker_pool_state::give() {
  for (auto& [process, one] : workers) {
    if (waiting.empty()) return;
    if (one.now != worker::phase::spare) continue;
    one.now = worker::phase::given;
    one.stage = std::move(waiting.front());
    waiting.pop_front();
    tell(self, one.stage, worker_given{process, one.actor, one.edge_port});
  }
}

/// Those that are waited for first; a spare only when nobody waits, so that it does not slow them down. Each one that
/// is waited for is started anew once: if all are late, the machine is slow, and would only be slower.
void worker_pool_state::launch_missing() {
  if (waiting.empty() && !budget.may_start_spare(self->clock().now().time_since_epoch())) return;
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
  auto made = source([address](const std::shared_ptr<worker_process>& process, const exit_report& report) {
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
  if (made->link) offer_link(self->system(), std::move(made->link), at->second.entrance);
  wait_a_slice(self, patience, hello_late{process, limits::wait_slices - 1});
  wait_a_slice(self, limits::worker_hello_timeout, hello_overdue{process, limits::wait_slices - 1});
  return true;
}

void worker_pool_state::exited(const worker_exited& what) {
  const auto found = workers.find(what.process);
  if (found == workers.end()) return;
  const worker ended = std::move(found->second);
  workers.erase(found);
  self->send_exit(ended.entrance, caf::exit_reason::user_shutdown);
  if (ended.now == worker::phase::given) return tell(self, ended.stage, what);
  if (ended.has_said_hello()) {
    budget.spare_lost(self->clock().now().time_since_epoch());
  } else if (const auto spent =
                 budget.failed(what.process->name(), what.report, what.process->killed_for(), waiting.size())) {
    return refuse_all(*spent);
  }
  launch_missing();
}

/// It may still come, and is as welcome then. One that nobody waits for is not replaced: it would be one spare more
/// on a machine that is slow enough.
void worker_pool_state::late(const hello_late& what) {
  const auto found = workers.find(what.process);
  if (found == workers.end() || found->second.now != worker::phase::starting) return;
  if (what.slices_left > 0) return wait_a_slice(self, patience, hello_late{what.process, what.slices_left - 1});
  found->second.now = worker::phase::late;
  if (!waiting.empty()) launch_missing();
}

void worker_pool_state::overdue(const hello_overdue& what) {
  const auto found = workers.find(what.process);
  if (found == workers.end() || found->second.has_said_hello()) return;
  if (what.slices_left > 0) {
    return wait_a_slice(self, limits::worker_hello_timeout, hello_overdue{what.process, what.slices_left - 1});
  }
  what.process->kill("it said no hello for " + std::to_string(limits::worker_hello_timeout.count()) + " s");
}

void worker_pool_state::refuse_all(const error& cause) {
  for (const remote_stage_actor& each : std::exchange(waiting, {})) tell(self, each, no_worker{cause});
}

}  // namespace troupe
