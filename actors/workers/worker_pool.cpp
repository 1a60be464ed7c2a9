#include "actors/workers/worker_pool.hpp"

#include <algorithm>
#include <utility>

#include "actors/workers/worker_claims.hpp"
#include "messages/codec/dispatch.hpp"

namespace troupe {
namespace {

/// Starts one of limits::wait_slices timers that together last as long as `whole`. If this process is frozen for a long
/// time, only one of them runs out meanwhile.
template <class Overdue>
void wait_a_slice(worker_pool_actor::pointer self, std::chrono::nanoseconds whole, Overdue what) {
  tell_after(self, whole / limits::wait_slices, worker_pool_actor{self}, std::move(what));
}

/// Sends what the host reports to the pool, as long as the pool exists.
class pool_listener final : public worker_listener {
 public:
  explicit pool_listener(const worker_pool_actor& pool) : pool_(pool) {}
  void said(const hosted_worker_ptr& worker, codec::bytes message) override {
    pool_.tell(worker_said{worker, std::move(message)});
  }
  void link_lost(const hosted_worker_ptr& worker) override { pool_.tell(worker_unlinked{worker}); }
  void exited(const hosted_worker_ptr& worker, const exit_report& report) override {
    pool_.tell(worker_exited{worker, report});
  }

 private:
  const weak_actor<worker_pool_actor> pool_;
};

bool is_hello(const codec::bytes& message) {
  const auto kind = codec::kind_of(message);
  return kind && *kind == message_kind::worker_hello;
}

}  // namespace

worker_pool_actor::behavior_type worker_pool(worker_pool_actor::stateful_pointer<worker_pool_state> self,
                                             std::shared_ptr<worker_host> host, std::chrono::milliseconds patience,
                                             std::shared_ptr<const transport> edges) {
  self->state.host = std::move(host);
  self->state.listener = std::make_shared<pool_listener>(worker_pool_actor{self});
  self->state.patience = patience;
  self->state.edges = std::move(edges);
  return self->state.behavior();
}

worker_pool_actor::behavior_type worker_pool_state::behavior() {
  return {
      [this](worker_said& what) { said(what); },
      [this](const worker_request& wanted) { want(wanted); },
      [this](const worker_unlinked& what) { unlinked(what); },
      [this](const worker_exited& what) { exited(what); },
      [this](const hello_retry_timeout& what) { late(what); },
      [this](const hello_timeout& what) { overdue(what); },
  };
}

void worker_pool_state::said(worker_said& what) {
  const auto found = workers.find(what.worker);
  if (found == workers.end()) return;
  if (found->second.now != worker::phase::given || is_hello(what.message)) return hello(what);
  tell(self, found->second.stage, std::move(what));
}

/// A worker may say hello once.
void worker_pool_state::hello(const worker_said& what) {
  static_cast<void>(dispatch<worker_hello>(what.message, [&](const worker_hello& said) {
    worker& one = workers.at(what.worker);
    const hello_facts known{what.worker->pid(), edges.get(), !one.has_said_hello()};
    if (const auto wrong = objection_to(said, known)) return what.worker->kill(false_claim(*wrong));
    // starting, late -> spare: the process runs, and is the one that was started.
    one.now = worker::phase::spare;
    one.edge_contact = said.edge_contact;
    budget.hello();
    give();
    launch_missing();
  }));
}

void worker_pool_state::want(const worker_request& wanted) {
  if (waiting.empty()) budget.begin();
  waiting.push_back(wanted.stage);
  give();
  launch_missing();
}

void worker_pool_state::give() {
  for (auto& [hosted, one] : workers) {
    if (waiting.empty()) return;
    if (one.now != worker::phase::spare) continue;
    // spare -> given: the stage that has waited longest gets it, and hears of its end from now on.
    one.now = worker::phase::given;
    one.stage = std::move(waiting.front());
    waiting.pop_front();
    tell(self, one.stage, worker_granted{hosted, one.edge_contact});
    if (one.is_unlinked) tell(self, one.stage, worker_unlinked{hosted});
  }
}

/// Starts as many workers as are missing: one per stage that waits, or spares if no stage waits. Spares are started
/// later, so that they do not slow down the workers that are waited for. For a late worker another one is started once.
/// If that one is late, too, the machine is slow, and a third one would make it slower.
void worker_pool_state::launch_missing() {
  if (waiting.empty() && !budget.may_start_spare(self->clock().now().time_since_epoch())) return;
  std::size_t coming = 0;
  std::size_t late = 0;
  for (const auto& [hosted, one] : workers) {
    if (one.now != worker::phase::given) ++(one.now == worker::phase::late ? late : coming);
  }
  const std::size_t wanted = waiting.empty() ? limits::worker_spares : waiting.size();
  const std::size_t most = 2 * wanted;
  if (wanted <= coming || most <= coming + late) return;
  std::size_t missing = std::min(wanted - coming, most - coming - late);
  while (missing > 0 && launch()) --missing;
}

bool worker_pool_state::launch() {
  const auto made = host->start(listener);
  if (!made) {
    refuse_all(made.error());
    return false;
  }
  workers.insert_or_assign(*made, worker{});
  wait_a_slice(self, patience, hello_retry_timeout{*made, limits::wait_slices - 1});
  wait_a_slice(self, limits::worker_hello_timeout, hello_timeout{*made, limits::wait_slices - 1});
  return true;
}

/// If the link of a spare is lost, the stage that gets the spare later is told (give()).
void worker_pool_state::unlinked(const worker_unlinked& what) {
  const auto found = workers.find(what.worker);
  if (found == workers.end()) return;
  found->second.is_unlinked = true;
  if (found->second.now == worker::phase::given) tell(self, found->second.stage, what);
}

void worker_pool_state::exited(const worker_exited& what) {
  const auto found = workers.find(what.worker);
  if (found == workers.end()) return;
  const worker ended = std::move(found->second);
  workers.erase(found);
  if (ended.now == worker::phase::given) return tell(self, ended.stage, what);
  if (ended.has_said_hello()) {
    budget.spare_lost(self->clock().now().time_since_epoch());
  } else if (const auto spent =
                 budget.failed(what.worker->name(), what.report, what.worker->killed_for(), waiting.size())) {
    // So many ended before their hello that the next would, too.
    return refuse_all(*spent);
  }
  launch_missing();
}

/// A late worker may still say hello, and is a spare then. If no stage waits, no other one is started in its place, as
/// there are spares enough and the machine is slow.
void worker_pool_state::late(const hello_retry_timeout& what) {
  const auto found = workers.find(what.worker);
  if (found == workers.end() || found->second.now != worker::phase::starting) return;
  if (what.slices_left > 0) return wait_a_slice(self, patience, hello_retry_timeout{what.worker, what.slices_left - 1});
  // starting -> late: it is not counted on any more, and another one is started for the stage that waits for it.
  found->second.now = worker::phase::late;
  if (!waiting.empty()) launch_missing();
}

void worker_pool_state::overdue(const hello_timeout& what) {
  const auto found = workers.find(what.worker);
  if (found == workers.end() || found->second.has_said_hello()) return;
  if (what.slices_left > 0) {
    return wait_a_slice(self, limits::worker_hello_timeout, hello_timeout{what.worker, what.slices_left - 1});
  }
  what.worker->kill("it said no hello for " + std::to_string(limits::worker_hello_timeout.count()) + " s");
}

void worker_pool_state::refuse_all(const error& cause) {
  for (const remote_stage_actor& each : std::exchange(waiting, {})) tell(self, each, worker_denied{cause});
}

}  // namespace troupe
