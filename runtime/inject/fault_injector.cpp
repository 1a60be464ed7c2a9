#include "runtime/inject/fault_injector.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "runtime/fault/fault_shape.hpp"
#include "runtime/inject/faulty_call.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;
using target = fault_target_kind;

/// Until who is to be hit is there again.
constexpr std::chrono::milliseconds until_next_try{5};

std::uint64_t bit_of(std::size_t number) {
  return std::uint64_t{1} << number;
}

bool is_of_place(const fault& one) {
  return one.who.kind == target::agent || one.who.kind == target::node;
}

/// Injected by the worker at the end of the edge, or by the agent of the worker's node.
bool is_of_messages_at_time(const fault& one) {
  return is_of_messages(one) && one.when.kind == fault_trigger_kind::time;
}

/// To who injects at times of the run.
void tell_begun(hosted_worker& worker, steady::duration ago) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(ago).count();
  if (auto bytes = codec::encode(run_begun{.age_ns = static_cast<std::uint64_t>(ns)})) worker.send(std::move(*bytes));
}

std::shared_ptr<full_disk> disk_for(const fault_plan& plan) {
  const bool fills = std::ranges::any_of(plan.faults(), [](const fault& one) {
    return one.kind == fault_kind::disk_full && one.who.kind == target::journal;
  });
  return fills ? std::make_shared<full_disk>() : nullptr;
}

/// In memory that both have mapped.
std::shared_ptr<engine_page> page_of(const hosted_worker& worker) {
  const auto memory = worker.page();
  if (!memory) return nullptr;
  auto page = memory->copy().and_then([](unique_fd&& copy) { return shared_page::adopt(std::move(copy)); });
  return page ? page->page() : nullptr;
}

}  // namespace

expected<std::shared_ptr<fault_injector>> fault_injector::start(fault_plan plan, fault_shape shape, log_function log,
                                                                std::chrono::milliseconds patience) {
  std::shared_ptr<fault_injector> made(new fault_injector(std::move(plan), std::move(shape), std::move(log), patience));
  made->arm();
  auto started = made->clock_.start();
  if (started && made->armed_.has(target::control)) started = made->late_messages_.start();
  return started.map([&] { return made; });
}

fault_injector::fault_injector(fault_plan plan, fault_shape shape, log_function log, std::chrono::milliseconds patience)
    : record_(std::move(plan), std::move(log)),
      shape_(std::move(shape)),
      patience_(patience),
      disk_(disk_for(record_.plan())) {}

void fault_injector::arm() {
  std::vector<numbered_fault> all;
  for (const fault& each : faults()) all.push_back({all.size(), each});
  const auto may_inject = [weak = weak_from_this()](std::size_t number, bool once, bool first,
                                                    std::optional<micro_batch_id> at) {
    const auto self = weak.lock();
    if (self && first && once) return self->record_.spend(number, at);
    if (self) self->record_.note(number, at);
    return self != nullptr;
  };
  armed_ = armed_faults(std::move(all), record_.start(), may_inject);
}

// --- who is hit ------------------------------------------------------------------------------------------------------

bool fault_injector::hits(const fault& one, stage_address at, std::optional<std::uint32_t> rank) const {
  if (one.who.kind == target::worker) return rank == one.who.rank;
  return one.who.kind == target::stage && find_stage(shape_, one.who.name) == at.stage &&
         one.who.replica.value_or(at.replica) == at.replica;
}

/// It ends this worker of the stage.
bool fault_injector::takes_worker(const fault& one, stage_address at, const hosted_worker& worker) const {
  if (is_of_place(one)) return one.who.name == worker.home().node;
  if (breaks_messages(one)) return touches(one, at);
  return needs_process(one) && hits(one, at, worker.rank());
}

/// Its edge, or its messages.
bool fault_injector::touches(const fault& one, stage_address at) const {
  const std::string& name = shape_.stages[at.stage].name;
  const auto is_it = [&](const std::string& end) {
    return end == name || (find_stage(shape_, end) == at.stage && !end.empty());
  };
  if (one.who.kind == target::control) return is_it(one.who.name);
  return one.who.kind == target::edge && (is_it(one.who.name) || is_it(one.who.to));
}

// --- decorators ------------------------------------------------------------------------------------------------------

engine_body fault_injector::wrap(stage_address at, engine_body body) {
  return armed_.around(std::move(body), at.replica, [&](const fault& one) { return hits(one, at, std::nullopt); });
}

std::shared_ptr<micro_batch_source> fault_injector::wrap(std::shared_ptr<micro_batch_source> source,
                                                         std::uint64_t first) {
  return std::make_shared<watched_source>(std::move(source), first,
                                          [self = shared_from_this()](std::uint64_t index) { self->loaded(index); });
}

std::shared_ptr<call_fold> fault_injector::wrap(std::shared_ptr<call_fold> fold) {
  return std::make_shared<watched_fold>(std::move(fold),
                                        [self = shared_from_this()](micro_batch_id id) { self->folded(id); });
}

std::shared_ptr<journal_appender> fault_injector::wrap(std::shared_ptr<journal_appender> journal) {
  return std::make_shared<watched_decisions>(
      std::move(journal), [self = weak_from_this()](fault_trigger_kind moment, const step_decision& decision) {
        if (const auto injector = self.lock()) injector->act_at_decision(moment, decision);
      });
}

std::shared_ptr<transport> fault_injector::wrap(std::shared_ptr<transport> edges, const wiring_plan& plan) {
  return armed_.around(std::move(edges), plan);
}

std::function<std::shared_ptr<message_link>(std::shared_ptr<message_link>, const std::shared_ptr<engine_page>&)>
fault_injector::around_links() {
  const message_triggers all = armed_.triggers(target::control);
  if (all.empty()) return nullptr;
  const std::weak_ptr<fault_injector> weak = weak_from_this();
  const do_later later = [weak](steady::time_point when, std::function<void()> what) {
    if (const auto self = weak.lock()) self->late_messages_.at(when, std::move(what));
  };
  const auto of_stage = [weak, all](const worker_assignment& to) {
    message_triggers found;
    const auto self = weak.lock();
    for (const auto& each : all) {
      if (self && self->touches(each->what(), to.address)) found.push_back(each);
    }
    return found;
  };
  return [later, of_stage](std::shared_ptr<message_link> link, const std::shared_ptr<engine_page>&) {
    return disturb_link(std::move(link), later, of_stage);
  };
}

void fault_injector::loaded(std::uint64_t index) {
  begin();
  act_at_micro_batch(target::loader, {0, index});
}

void fault_injector::folded(micro_batch_id id) {
  for (const target who : {target::aggregator, target::journal, target::driver, target::agent, target::node}) {
    act_at_micro_batch(who, id);
  }
}

void fault_injector::act_at_micro_batch(target who, micro_batch_id at) {
  for (std::size_t number = 0; number < faults().size(); ++number) {
    const fault& one = faults()[number];
    const bool is_due =
        one.who.kind == who && one.when.kind == fault_trigger_kind::micro_batch && one.when.number == at.index;
    if (is_due && is_of_place(one)) {
      hurt_node(number, at);
    } else if (is_due && record_.spend(number, at)) {
      act(number);
    }
  }
}

void fault_injector::act_at_decision(fault_trigger_kind moment, const step_decision& decision) {
  for (std::size_t number = 0; number < faults().size(); ++number) {
    const fault& one = faults()[number];
    const bool is_due = one.who.kind != target::stage && one.who.kind != target::worker && one.when.kind == moment &&
                        one.when.step.value_or(decision.step) == decision.step;
    if (is_due && record_.spend(number, micro_batch_id{decision.call, 0})) act(number);
  }
}

// --- at a time -------------------------------------------------------------------------------------------------------

void fault_injector::begin() {
  const auto now = steady::now();
  std::vector<hosted_worker_ptr> to_tell;
  {
    const std::lock_guard lock{mutex_};
    if (record_.start()->began()) return;
    record_.start()->begin(now);
    for (const watched_worker& each : watched_) {
      if (each.needs_time) to_tell.push_back(each.worker);
    }
  }
  for (const hosted_worker_ptr& each : to_tell) tell_begun(*each, steady::now() - now);
  for (std::size_t number = 0; number < faults().size(); ++number) {
    const fault& one = faults()[number];
    if (one.when.kind != fault_trigger_kind::time || is_of_messages(one)) continue;
    clock_.at(now + one.when.after, [this, number] {
      const fault_target& who = faults()[number].who;
      if (who.kind == target::stage || who.kind == target::worker) return signal(number, steady::now() + patience_);
      if (is_of_place(faults()[number])) return hurt_node(number);
      if (record_.spend(number)) act(number);
    });
  }
}

void fault_injector::act(std::size_t number) {
  const fault& one = faults()[number];
  switch (one.who.kind) {
    case target::loader:
    case target::aggregator:
      return actions_.end_actor(one.who.kind);
    case target::driver:
      return actions_.end_driver();
    case target::journal:
      return disk_->fill(one.bytes.value_or(0));
    default:
      return;
  }
}

/// A lost node does not come back.
void fault_injector::hurt_node(std::size_t number, std::optional<micro_batch_id> at) {
  if (record_.is_spent(number) || !actions_.hurt_node) return;
  if (!actions_.hurt_node(faults()[number])) return record_.give_up(number, "not injected: node lost");
  static_cast<void>(record_.spend(number, at));
}

/// From outside; a process that is just being replaced is hit when there is another one.
void fault_injector::signal(std::size_t number, steady::time_point deadline) {
  const fault& one = faults()[number];
  const hosted_worker_ptr worker = find(one.who);
  const int what = one.kind == fault_kind::stop ? SIGSTOP : SIGKILL;
  if (!worker || !worker->signal(what)) {
    const auto now = steady::now();
    if (now >= deadline) return record_.give_up(number, "not injected: target gone");
    return clock_.at(now + until_next_try, [this, number, deadline] { signal(number, deadline); });
  }
  static_cast<void>(record_.spend(number));
  if (one.kind != fault_kind::stop || !one.lasts) return;
  clock_.at(steady::now() + *one.lasts, [worker] { static_cast<void>(worker->signal(SIGCONT)); });
}

hosted_worker_ptr fault_injector::find(const fault_target& who) {
  const std::lock_guard lock{mutex_};
  if (who.kind == target::worker) {
    const auto found = started_.find(who.rank);
    return found == started_.end() ? nullptr : found->second;
  }
  const auto found = std::find_if(watched_.rbegin(), watched_.rend(), [&](const watched_worker& each) {
    return find_stage(shape_, who.name) == each.at.stage && who.replica.value_or(0) == each.at.replica;
  });
  return found == watched_.rend() ? nullptr : found->worker;
}

// --- workers ---------------------------------------------------------------------------------------------------------

void fault_injector::forget_workers() {
  look();
  const std::lock_guard lock{mutex_};
  forgets_ = true;
  started_.clear();
  watched_.clear();
}

void fault_injector::started(const hosted_worker_ptr& worker) {
  const std::lock_guard lock{mutex_};
  if (!forgets_) started_.insert_or_assign(worker->rank(), worker);
}

std::vector<assigned_fault> fault_injector::assign(stage_address at, const hosted_worker_ptr& worker) {
  look();
  watched_worker mine{.at = at, .worker = worker, .page = page_of(*worker)};
  std::vector<assigned_fault> given;
  for (std::size_t number = 0; number < faults().size(); ++number) {
    const fault& one = faults()[number];
    const bool cuts_off =
        one.kind == fault_kind::partition && one.who.kind == target::node && one.who.name == worker->home().node;
    const bool hits_messages = touches(one, at) && (at.replica == 0 || !is_of_first_replica(one));
    const bool is_mine = (is_of_body(one) && hits(one, at, worker->rank())) || hits_messages || cuts_off;
    if (!is_mine || (is_once(one) && record_.is_spent(number))) continue;
    mine.given |= bit_of(number);
    mine.needs_time = mine.needs_time || is_of_messages_at_time(one);
    given.push_back({static_cast<std::uint32_t>(number), to_string(one)});
  }
  const bool needs_time = mine.needs_time;
  std::optional<steady::time_point> began;
  {
    const std::lock_guard lock{mutex_};
    began = record_.start()->began();
    if (!forgets_) watched_.push_back(std::move(mine));
  }
  if (began && needs_time) tell_begun(*worker, steady::now() - *began);
  return given;
}

/// Pages of other nodes do not come: of those a fault at a micro-batch alone is known.
std::optional<micro_batch_id> fault_injector::first_hit(std::size_t number, const engine_page* page) const {
  const fault_trigger& when = faults()[number].when;
  if (when.kind == fault_trigger_kind::micro_batch) return micro_batch_id{0, when.number};
  return page == nullptr ? std::nullopt : page->first_hits.at(number).get();
}

/// What one has injected once, the other replicas must not inject again: a mark on their pages says so.
void fault_injector::look() {
  std::vector<std::pair<std::size_t, std::optional<micro_batch_id>>> found;
  {
    const std::lock_guard lock{mutex_};
    std::uint64_t spent = 0;
    for (watched_worker& each : watched_) {
      const stage_telemetry now = each.worker->telemetry();
      const std::uint64_t fresh = now.faults & each.given & ~each.seen;
      each.seen |= fresh;
      for (std::size_t number = 0; number < faults().size(); ++number) {
        if ((fresh & bit_of(number)) == 0) continue;
        found.emplace_back(number, first_hit(number, each.page.get()));
        if (is_once(faults()[number])) spent |= bit_of(number);
      }
    }
    for (watched_worker& each : watched_) {
      if (each.page && (spent & each.given & ~each.seen) != 0) {
        each.page->faults.fetch_or(spent & each.given, std::memory_order_release);
        each.seen |= spent & each.given;
      }
    }
  }
  for (const auto& [number, at] : found) record_.note(number, at);
}

}  // namespace troupe
