#include "testing/simulation/world.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <caf/scheduler/test_coordinator.hpp>

#include "messages/check.hpp"
#include "runtime/journal/journaling_fold.hpp"
#include "testing/simulation/driver_life.hpp"
#include "testing/simulation/judge.hpp"
#include "testing/simulation/plain_evaluation.hpp"
#include "testing/simulation/simulated_disk.hpp"

namespace troupe::simulation {
namespace {

/// From the last fault on: a start that is late by more than a minute, twice, is the longest wait of all.
constexpr nanoseconds time_to_heal = 400s;
constexpr std::uint64_t steps_max = 100'000;
constexpr std::uint64_t steps_max_per_replica = 2'000;
/// Measured: 14, where nothing is sent again.
constexpr std::uint64_t steps_max_per_forward = 200;

std::uint64_t micro_batches_of(const plan& what) {
  return std::accumulate(what.calls.begin(), what.calls.end(), std::uint64_t{0});
}

std::uint64_t steps_allowed(const plan& what) {
  std::uint64_t replicas = 0;
  for (const node_plan& each : what.graph.nodes) replicas += each.replicas;
  const std::uint64_t forwards = micro_batches_of(what) * what.graph.nodes.size();
  return steps_max + replicas * steps_max_per_replica + forwards * steps_max_per_forward;
}

/// All forwards one after another, twice.
nanoseconds time_allowed(const plan& what) {
  std::uint64_t slowness = 0;
  for (const node_plan& each : what.graph.nodes) slowness += each.slowness;
  const auto forwards = static_cast<std::int64_t>(2 * micro_batches_of(what) * slowness);
  return time_to_heal + std::chrono::microseconds{forwards * what.forward_us};
}

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

class noted_fold final : public call_fold {
 public:
  noted_fold(std::uint64_t call, std::uint32_t sink, recorder& seen, const nanoseconds& now)
      : call_(call), sink_(sink), seen_(seen), now_(now) {}
  [[nodiscard]] expected<void> fold(const score& next) override {
    seen_.note({.at_ns = now_.count(),
                .what = happening::folded,
                .stage = sink_,
                .incarnation = next.sender_incarnation,
                .call = call_,
                .index = next.id.index,
                .value = next.words.empty() ? 0 : next.words.front(),
                .other = next.samples});
    return {};
  }

 private:
  const std::uint64_t call_;
  const std::uint32_t sink_;
  recorder& seen_;
  const nanoseconds& now_;
};

}  // namespace

struct simulator::state {
  testing_config config;
  std::unique_ptr<caf::actor_system> system = std::make_unique<caf::actor_system>(config);
  recorder seen;
  std::optional<run_trace> trace;

  run_report run(const plan& what);

 private:
  struct run_state {
    const plan& what;
    virtual_clock clock{start_of_time};
    chance random = chance(what.seed);
    std::vector<fault> armed = {};
    std::vector<fault> timed = {};
    std::vector<bool> has_struck = {};
    left_behind left{what.kept};
    std::uint64_t steps = 0;
    nanoseconds healed{0};
    simulated_disk disk = {};
    /// Of the driver that died last.
    fault_kind death = fault_kind::kill_driver;
  };

  void begin(run_state& run);
  [[nodiscard]] driver_life::outcome live(run_state& run);
  void plan_faults(run_state& run, driver_life& life);
  void strike(run_state& run, const fault& what, driver_life& life);
  static void strike_edge(const fault& what, wire_network& edges);
  void end_driver(const run_state& run);
  [[nodiscard]] std::vector<call_start> resume(run_state& run);
  void hurt_disk(run_state& run);
  void check_disk(run_state& run);
};

void simulator::state::begin(run_state& run) {
  seen = recorder{};
  trace.emplace();
  auto& scheduler = static_cast<caf::scheduler::test_coordinator&>(system->scheduler());
  scheduler.clock().current_time = caf::actor_clock::time_point{start_of_time};
  nanoseconds last{0};
  for (const fault& each : run.what.faults) {
    const bool waits = each.kind == fault_kind::kill_in_forward || each.kind == fault_kind::poison ||
                       each.kind == fault_kind::crash_loop || each.kind == fault_kind::throw_in_forward ||
                       each.kind == fault_kind::throw_once || each.kind == fault_kind::lose_message ||
                       each.kind == fault_kind::hang_start;
    (waits ? run.armed : run.timed).push_back(each);
    last = std::max<nanoseconds>(last, std::chrono::microseconds{each.at_us + each.for_us});
  }
  run.has_struck.resize(run.timed.size(), false);
  run.healed = start_of_time + last;
}

run_report simulator::state::run(const plan& given) {
  const plan what = with_graph(given);
  run_state now{.what = what};
  begin(now);
  if (what.has_journal) TROUPE_CHECK(begin_journal(now.disk), "a new disk has room");
  driver_life::outcome ended = live(now);
  for (; ended == driver_life::outcome::killed; ended = live(now)) {
    ++seen.driver;
    if (what.has_journal) hurt_disk(now);
  }
  if (what.has_journal && ended == driver_life::outcome::ended) check_disk(now);
  const auto wrong = judge(what, seen.events, seen.thrown);
  return {.seed = what.seed,
          .trace_hash = seen.digest(),
          .steps = now.steps,
          .seconds = std::chrono::duration<double>(now.clock.now - start_of_time).count(),
          .wrong = wrong ? wrong->invariant + ": " + wrong->why : std::string(),
          .ended = ending_of(seen.events)};
}

driver_life::outcome simulator::state::live(run_state& run) {
  driver_life::outcome ended{};
  {
    driver_life life({.what = run.what,
                      .system = *system,
                      .clock = run.clock,
                      .seen = seen,
                      .random = run.random,
                      .armed = run.armed,
                      .left = run.left,
                      .trace = *trace,
                      .steps = run.steps});
    std::vector<call_start> starts = resume(run);
    seen.note({.at_ns = run.clock.now.count(),
               .what = happening::driver_started,
               .value = starts[0].first(),
               .other = life.window()});
    plan_faults(run, life);
    std::vector<driver_life::folds_of_call> folds(run.what.calls.size());
    for (std::size_t call = 0; call < folds.size(); ++call) {
      for (std::uint32_t sink = 0; sink < run.what.graph.sinks.size(); ++sink) {
        folds[call].push_back(std::make_shared<noted_fold>(call, sink, seen, run.clock.now));
      }
    }
    std::shared_ptr<simulated_journal> journal;
    if (run.what.has_journal) {
      journal = std::make_shared<simulated_journal>(run.disk, run.clock.now, life.later(), run.what.broken);
      run.left.watch(leftover::journal, journal);
      for (auto& each : folds[0]) each = std::make_shared<journaling_fold>(std::move(each), journal);
    }
    life.submit(std::move(folds), std::move(starts));
    ended = life.run({.steps_max = run.steps + steps_allowed(run.what),
                      .time_max = std::max(run.healed, run.clock.now) + time_allowed(run.what)},
                     [&](bool is_complete) {
                       if (!journal) return;
                       if (!journal->close() || !is_complete) return;
                       seen.note({.at_ns = run.clock.now.count(), .what = happening::acknowledged});
                     });
  }
  if (ended == driver_life::outcome::is_stuck) seen.note({.at_ns = run.clock.now.count(), .what = happening::stuck});
  if (ended == driver_life::outcome::killed)
    seen.note({.at_ns = run.clock.now.count(), .what = happening::driver_died});
  end_driver(run);
  return ended;
}

/// From what the journal gives back, or the plan; a journal that is refused is followed by a new one.
std::vector<call_start> simulator::state::resume(run_state& run) {
  std::vector<call_start> starts(run.what.calls.size());
  plain_evaluation plain(run.what.graph, run.what.calls);
  for (std::size_t call = 0; call < run.what.folded_before.size(); ++call) {
    starts[call].folded = run.what.folded_before[call];
    if (!starts[call].folded.empty()) starts[call].samples = plain.samples_before(call, starts[call].folded[0]);
  }
  if (!run.what.has_journal) return starts;
  run.disk.make_room();
  // As evaluation does.
  const auto is_ours = [&](const score& one) {
    return one.sink < run.what.graph.sinks.size() && one.id.index < run.what.calls[0];
  };
  const auto states = read_journal(run.disk, run.what.broken, is_ours);
  if (!states) {
    seen.note({.at_ns = run.clock.now.count(), .what = happening::journal_refused});
    TROUPE_CHECK(begin_journal(run.disk), "room was made");
    return starts;
  }
  if (states->empty()) return starts;
  starts[0].folded.assign(run.what.graph.sinks.size(), 0);
  for (const score& each : *states) {
    seen.note({.at_ns = run.clock.now.count(),
               .what = happening::recovered,
               .stage = each.sink,
               .call = 0,
               .index = each.id.index,
               .value = each.words.empty() ? 0 : each.words.front()});
    ++starts[0].folded[each.sink];
    if (each.sink == 0) starts[0].samples += each.samples;
  }
  return starts;
}

void simulator::state::hurt_disk(run_state& run) {
  if (run.death == fault_kind::kill_machine) run.disk.lose_power(run.random);
  if (run.death != fault_kind::corrupt_journal) return;
  seen.note({.at_ns = run.clock.now.count(), .what = happening::journal_hurt});
  run.disk.flip_bit(run.random);
}

/// The machine loses its power when the result is out: another driver must find the whole result.
void simulator::state::check_disk(run_state& run) {
  run.disk.lose_power(run.random);
  ++seen.driver;
  const auto starts = resume(run);
  seen.note({.at_ns = run.clock.now.count(), .what = happening::driver_started, .value = starts[0].first()});
}

/// Counts actors and engines left after the driver's end; an actor that is left keeps its system for ever.
void simulator::state::end_driver(const run_state& run) {
  const std::size_t actors = system->registry().running();
  for (const leftover kind : {leftover::engine, leftover::process, leftover::page, leftover::link, leftover::journal}) {
    seen.note({.at_ns = run.clock.now.count(),
               .what = happening::left,
               .index = static_cast<std::uint64_t>(kind),
               .value = run.left.count(kind)});
  }
  seen.note({.at_ns = run.clock.now.count(), .what = happening::driver_ended, .value = actors});
  if (actors == 0) return;
  static_cast<void>(system.release());
  system = std::make_unique<caf::actor_system>(config);
}

/// Those that have not struck: what falls into the time between two drivers strikes the next one.
void simulator::state::plan_faults(run_state& run, driver_life& life) {
  for (std::size_t at = 0; at < run.timed.size(); ++at) {
    const nanoseconds when = start_of_time + std::chrono::microseconds{run.timed[at].at_us};
    if (run.has_struck[at]) continue;
    life.later().at(std::max(when, run.clock.now), [this, at, &run, &life] {
      if (seen.is_silent) return;
      run.has_struck[at] = true;
      strike(run, run.timed[at], life);
    });
  }
}

void simulator::state::strike_edge(const fault& what, wire_network& edges) {
  switch (what.kind) {
    case fault_kind::lose_edge:
      return static_cast<void>(edges.lose_one(what.channels));
    case fault_kind::damage_edge:
      return static_cast<void>(edges.damage_one(what.channels));
    case fault_kind::lose_frame:
      return static_cast<void>(edges.lead_one_astray(what.channels));
    case fault_kind::delay_frame:
      return static_cast<void>(edges.delay_one(what.channels, std::chrono::microseconds{what.for_us}));
    case fault_kind::double_frame:
      return static_cast<void>(edges.double_one(what.channels));
    case fault_kind::reorder_frame:
      return static_cast<void>(edges.reorder_one(what.channels));
    default:
      return;
  }
}

void simulator::state::strike(run_state& run, const fault& what, driver_life& life) {
  simulated_host& host = life.host();
  simulated_process* const there = host.at({what.stage, what.replica});
  const auto first_of = [&](auto fits) -> simulated_process* {
    for (const auto& each : host.all()) {
      if (each->process().lives() && fits(each->process())) return &each->process();
    }
    return nullptr;
  };
  simulated_process* chosen = there;
  switch (what.kind) {
    case fault_kind::kill_spare:
      chosen = first_of([](const simulated_process& one) { return one.has_booted() && !one.assignment(); });
      [[fallthrough]];
    case fault_kind::kill_starting:
      if (what.kind == fault_kind::kill_starting) {
        chosen = first_of([](const simulated_process& one) { return !one.has_booted(); });
      }
      [[fallthrough]];
    case fault_kind::kill:
      if (chosen != nullptr) chosen->die(exit_cause::killed, exit_kind::signalled, 9);
      return;
    case fault_kind::freeze:
      if (there != nullptr) there->freeze(std::chrono::microseconds{what.for_us});
      return;
    case fault_kind::unlink:
      if (there != nullptr) there->lose_link();
      return;
    case fault_kind::give_up:
      return life.give_up(what.call);
    case fault_kind::stop_run:
      return life.stop_calls(static_cast<way_to_stop>(what.index));
    case fault_kind::kill_actor:
      return life.kill_actor(kills_aggregator(what));
    case fault_kind::fill_disk:
      seen.note({.at_ns = run.clock.now.count(), .what = happening::disk_filled});
      return run.disk.fill();
    case fault_kind::start_late:
      return host.start_next_late(std::chrono::microseconds{what.for_us});
    case fault_kind::fail_start:
      return host.fail_next_start();
    case fault_kind::kill_driver:
    case fault_kind::kill_machine:
    case fault_kind::corrupt_journal:
      run.death = what.kind;
      return life.kill();
    default:
      return strike_edge(what, life.network());
  }
}

simulator::simulator() : state_(std::make_unique<state>()) {}
simulator::~simulator() = default;

run_report simulator::run(const plan& what) {
  return state_->run(what);
}

const history& simulator::seen() const noexcept {
  return state_->seen.events;
}

std::span<const trace_event> simulator::trace() const noexcept {
  if (!state_->trace) return {};
  return state_->trace->events;
}

}  // namespace troupe::simulation
