#include "testing/simulation/driver_life.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "actors/aggregator.hpp"
#include "actors/workers/worker_stages.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "testing/simulation/graph_wiring.hpp"
#include "testing/simulation/hash_source.hpp"

namespace troupe::simulation {
namespace {

constexpr nanoseconds look_interval = 500ms;
/// Mutants wait as long for what no run would see.
constexpr std::chrono::milliseconds no_end_in_sight = 24h;

bool is_ready(const std::future<call_outcome>& outcome) {
  return outcome.valid() && outcome.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

/// Stages live in workers; the driver has no edge within itself.
struct no_edges final : edge_factory {
  [[nodiscard]] edge_ends make(const edge_options&) override {
    TROUPE_CHECK(false, "all stages are in workers");
    return {};
  }
};

/// Of a ledger whose low-water mark is wrong.
constexpr std::uint64_t mark_lead = 3;
constexpr std::size_t engines_per_look = 64;
constexpr nanoseconds coarseness = 5us;
constexpr std::uint32_t without_end = ~std::uint32_t{0};

wire_network::options wires_of(const plan& what) {
  return {.loses_ends = what.loses_edges,
          .credits = what.broken == mutant::credit_check ? credit_check::none : credit_check::by_slots,
          .payloads = what.broken == mutant::frame_checksums ? payload_check::none : payload_check::of_checksums};
}

restart_limits restarts_of(const plan& what) {
  if (what.broken == mutant::restart_budget) return {without_end, without_end};
  return {.deaths_without_progress_max = what.most.deaths_without_progress,
          .deaths_in_window_max = what.most.deaths_in_window,
          .names_suspects = what.broken != mutant::poison_counter};
}

}  // namespace

driver_life::driver_life(const world_parts& parts)
    : parts_(parts),
      around_{.what = parts.what,
              .system = parts.system,
              .now = parts.clock.now,
              .later = later_,
              .seen = parts.seen,
              .random = parts.random,
              .network = network_.emplace(wires_of(parts.what), parts.clock.now, later_, parts.seen, parts.random),
              .wiring = wiring_of(parts.what.graph, parts.what.trains, parts.what.tied),
              .loader_page = nullptr,
              .silence = parts.what.most.silence,
              .armed = parts.armed,
              .left = parts.left,
              .trace = parts.trace} {
  set_up();
  direct();
  poll();
}

void driver_life::set_up() {
  const edge_depths depths{.from_loader = parts_.what.slots_from_loader, .between_stages = parts_.what.slots_between};
  const stage_address loader_at{static_cast<stage_index>(parts_.what.graph.nodes.size()), 0};
  auto page = shared_page::create();
  TROUPE_CHECK(page, "the machine has a page of memory");
  around_.loader_page = page->page();
  if (parts_.what.hands_over_edges) {
    around_.memory = page->memory();
    network_->offer_memory(page->memory());
  }
  parts_.left.watch(leftover::page, around_.loader_page);
  setup_->is_remote = [](stage_address) { return true; };
  setup_->assignment = [](stage_address) { return assignment_data{}; };
  setup_->fingerprint = 1;
  setup_->asked.start_deadline =
      parts_.what.broken == mutant::late_replaced ? no_end_in_sight : parts_.what.most.start_deadline;
  setup_->asked.timeout = parts_.what.most.silence;
  setup_->memory_first = parts_.what.broken != mutant::blobs_before_orders;
  setup_->awaits_ends = parts_.what.broken != mutant::old_incarnations_fenced;
  setup_->codec = std::make_shared<hash_codec>();
  setup_->edges = network_->of(own_process_);
  setup_->local_pages.emplace(loader_at, std::move(*page));
  const auto no_body = [](stage_address) -> expected<std::shared_ptr<stage_body>> { return nullptr; };
  auto made = assemble(wiring_plan(around_.wiring), std::make_shared<no_edges>(), no_body,
                       {.depths = depths,
                        .step_micro_batches = parts_.what.trains ? *std::ranges::max_element(parts_.what.calls) : 0,
                        .is_elsewhere = [](stage_address) { return true; },
                        .page_of = setup_->page_finder()});
  TROUPE_CHECK(made, "only a loader is assembled here");
  engines_ = std::make_shared<assembly>(std::move(*made));
  parts_.left.watch(leftover::engine, engines_->loader);
  host_ = std::make_shared<simulated_host>(around_);
  losses_.emplace(parts_.what.broken == mutant::lost_work_noticed ? no_end_in_sight
                                                                  : setup_->asked.timeout + limits::lost_work_margin);
}

/// As running_topology does.
void driver_life::direct() {
  const auto patience = std::max(limits::worker_hello_patience, setup_->asked.timeout);
  pool_ = parts_.system.spawn(worker_pool, host_, patience, setup_->edges);
  auto ledger = engines_->ledger_options();
  ledger.deduplicate = parts_.what.broken != mutant::deduplication;
  if (parts_.what.broken == mutant::low_water_mark) ledger.mark_lead = mark_lead;
  director_ = parts_.system.spawn(
      director,
      director_options{.engines = engines_,
                       .ledger = std::make_shared<fold_ledger>(ledger),
                       .host = own_engines_,
                       .provider = std::make_shared<worker_stages>(
                           engines_, own_engines_, setup_, registry_,
                           [pool = pool_](stage_address) -> expected<worker_pool_actor> { return pool; }),
                       .reports = std::make_shared<report_box>(),
                       .steps = steps_of_training(),
                       .request_timeout = std::max<nanoseconds>(limits::control_request_timeout,
                                                                setup_->asked.timeout + limits::control_request_margin),
                       .restarts = restarts_of(parts_.what),
                       .on_child = [this](const caf::actor& child) { meet(child); },
                       .on_stopped = [this] { is_stopped_ = true; }});
}

void driver_life::meet(const caf::actor& child) {
  const auto* actor = dynamic_cast<const caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(child));
  const bool aggregates = actor->name() == std::string_view(aggregator_state::name);
  (aggregates ? aggregators_ : loaders_).push_back(caf::actor_cast<caf::actor_addr>(child));
}

driver_life::~driver_life() {
  director_ = nullptr;
  pool_ = nullptr;
  engines_.reset();
  own_engines_->entries.clear();
}

void driver_life::submit(std::vector<folds_of_call> folds, std::vector<call_start> starts) {
  for (std::size_t call = 0; call < parts_.what.calls.size(); ++call) {
    tickets_.push_back(std::make_shared<call_ticket>());
    call_ticket& ticket = *tickets_.back();
    ticket.source = std::make_shared<hash_source>(parts_.what, call, starts[call].first());
    ticket.folds = std::move(folds[call]);
    ticket.start = starts[call];
    ticket.score_words.assign(ticket.folds.size(), 1);
    ticket.trains = is_step(parts_.what, call);
    if (ticket.trains) ticket.in_workers.content = score_content::step_loss;
    outcomes_.push_back(ticket.done.get_future());
    is_answered_.push_back(false);
    parts_.seen.note({.at_ns = around_.now.count(), .what = happening::submitted, .call = call});
    post(director_, open_ticket{tickets_.back()});
  }
}

void driver_life::give_up(std::uint64_t call, error_code reason) {
  if (call >= tickets_.size() || is_answered_[call]) return;
  note_given_up(call, reason);
  post(director_, cancel_ticket{tickets_[call], {reason, "simulation", "given up", {}}});
}

void driver_life::note_given_up(std::uint64_t call, error_code reason) {
  parts_.seen.note({.at_ns = around_.now.count(),
                    .what = happening::given_up,
                    .call = call,
                    .value = static_cast<std::uint64_t>(reason)});
}

/// As evaluation_run and pipeline_engine do.
void driver_life::stop_calls(way_to_stop how) {
  if (how == way_to_stop::drain) {
    parts_.seen.note({.at_ns = around_.now.count(), .what = happening::cut});
    return post(director_, cut_calls{});
  }
  for (std::uint64_t call = 0; call < tickets_.size(); ++call) {
    if (how != way_to_stop::abort) {
      give_up(call, how == way_to_stop::deadline ? error_code::deadline_passed : error_code::interrupted);
    } else if (!is_answered_[call]) {
      note_given_up(call, error_code::interrupted);
    }
  }
  if (how == way_to_stop::abort) post(director_, stop_request{stop_mode::abort});
}

std::uint64_t driver_life::window() const noexcept {
  if (parts_.what.micro_batch_bytes == 0) return engines_->window;
  const std::uint64_t fitting =
      (limits::window_bytes + parts_.what.micro_batch_bytes - 1) / parts_.what.micro_batch_bytes;
  return std::min(engines_->window, std::max(engines_->window_min, fitting));
}

void driver_life::kill_actor(bool aggregates) {
  const auto& of = aggregates ? aggregators_ : loaders_;
  if (!of.empty()) caf::anon_send_exit(of.back(), caf::exit_reason::kill);
}

driver_life::outcome driver_life::run(const bounds& within,
                                      const std::function<void(bool is_complete)>& when_all_are_answered) {
  const bool answered = move_until(within, [this] {
    watch_answers();
    return is_killed_ || std::ranges::all_of(is_answered_, [](bool each) { return each; });
  });
  if (answered && !is_killed_) when_all_are_answered(is_complete_);
  if (answered && !is_killed_) {
    post(director_, stop_request{stop_mode::drain});
    const bool stopped = move_until(within, [this] { return is_killed_ || is_stopped_; });
    if (stopped && !is_killed_) {
      note_left();
      tidy_up();
      return outcome::ended;
    }
    if (!stopped) return tidy_up(), outcome::is_stuck;
  }
  tidy_up();
  return answered ? outcome::killed : outcome::is_stuck;
}

/// Ends the remains of a dead driver, and notes nothing.
void driver_life::tidy_up() {
  parts_.seen.is_silent = !is_stopped_;
  host_->close();
  host_->end_all(exit_cause::at_the_end);
  post(director_, stop_request{stop_mode::abort});
  const bounds enough{.steps_max = parts_.steps + 100'000, .time_max = around_.now + 3600s};
  static_cast<void>(move_until(enough, [this] { return is_stopped_; }));
  caf::anon_send_exit(pool_, caf::exit_reason::user_shutdown);
  director_ = nullptr;
  pool_ = nullptr;
  around_.scheduler().clock().cancel_all();
  while (around_.scheduler().try_run_once()) continue;
  around_.scheduler().clock().cancel_all();
  parts_.seen.is_silent = false;
}

// --- one step --------------------------------------------------------------------------------------------------------

template <class Done>
bool driver_life::move_until(const bounds& within, Done done) {
  while (!done()) {
    if (++parts_.steps > within.steps_max || around_.now > within.time_max) return false;
    if (!move() && !advance()) return false;
  }
  return true;
}

void driver_life::collect_ready() {
  ready_.clear();
  next_engine_ = stepped_engines::never;
  std::size_t looked_at = 0;
  const auto look = [this, &looked_at](simulated_process* process, stepped_engines& host) {
    for (std::size_t at = 0; at < host.entries.size(); ++at) {
      const nanoseconds due = stepped_engines::due(host.entries[at]);
      if (due <= around_.now) ready_.push_back({process, &host, at});
      next_engine_ = std::min(next_engine_, due);
    }
    looked_at += host.entries.size();
  };
  look(nullptr, *own_engines_);
  for (const auto& each : host_->all()) {
    simulated_process& process = each->process();
    if (process.lives() && !process.is_frozen()) look(&process, process.stepped());
  }
  steps_per_look_ = steps_until_look_ = looked_at / engines_per_look;
}

/// Since it was found.
bool driver_life::is_ready_still(const ready_engine& found) const {
  if (found.process != nullptr && (!found.process->lives() || found.process->is_frozen())) return false;
  return found.position < found.host->entries.size() &&
         stepped_engines::due(found.host->entries[found.position]) <= around_.now;
}

/// In a large run it does not look at all engines before each step: one that has become ready is a choice a few steps
/// later.
bool driver_life::move() {
  bool has_looked = steps_until_look_ == 0;
  if (has_looked) {
    collect_ready();
  } else {
    --steps_until_look_;
    std::erase_if(ready_, [this](const ready_engine& each) { return !is_ready_still(each); });
  }
  for (;;) {
    const std::size_t jobs = around_.scheduler().jobs.size();
    const auto next = later_.next();
    const bool has_event = next && *next <= around_.now;
    const std::size_t choices = jobs + ready_.size() + (has_event ? 1 : 0);
    if (choices != 0) return choose(choices, jobs, has_event), true;
    if (std::exchange(has_looked, true)) return false;
    collect_ready();
  }
}

/// One seeded choice among all jobs of actors, all engines that may have work, and the next due event.
void driver_life::choose(std::size_t choices, std::size_t jobs, bool has_event) {
  const std::size_t choice = choices == 1 ? 0 : parts_.random.below(choices);
  if (choice < jobs) {
    auto& queue = around_.scheduler().jobs;
    std::swap(queue[choice], queue.front());
    around_.scheduler().run_once();
  } else if (has_event && choice + 1 == choices) {
    later_.do_next();
  } else {
    const ready_engine& chosen = ready_[choice - jobs];
    stepped_engines::entry& each = chosen.host->entries[chosen.position];
    if (chosen.process != nullptr) return chosen.process->step_engine(each);
    step(each, around_.now, nanoseconds{parts_.random.between(200, 3'000)});
  }
}

/// To the next moment at which something can happen; in a large run a little further, so that one look is for all that
/// happens by then.
bool driver_life::advance() {
  nanoseconds to = next_engine_;
  if (const auto next = later_.next()) to = std::min(to, *next);
  auto& clock = around_.scheduler().clock();
  if (!clock.schedule().empty()) to = std::min(to, nanoseconds{clock.schedule().begin()->first.time_since_epoch()});
  if (to == stepped_engines::never) return false;
  to += static_cast<std::int64_t>(steps_per_look_) * coarseness;
  const nanoseconds passed = std::max(to - around_.now, nanoseconds{0});
  steps_until_look_ = 0;
  parts_.clock.now += passed;
  around_.scheduler().advance_time(passed);
  return true;
}

void driver_life::watch_answers() {
  for (std::size_t call = 0; call < outcomes_.size(); ++call) {
    if (is_answered_[call] || !is_ready(outcomes_[call])) continue;
    is_answered_[call] = true;
    const call_outcome answer = outcomes_[call].get();
    const auto now = around_.now.count();
    parts_.seen.note({.at_ns = now,
                      .what = happening::answered,
                      .call = call,
                      .index = answer.tally.samples,
                      .value = answer.cause ? static_cast<std::uint64_t>(answer.cause->code) : 0,
                      .other = answer.tally.folded});
    const bool partial = is_partial(answer, parts_.what.calls[call]);
    parts_.seen.note({.at_ns = now,
                      .what = happening::labelled,
                      .call = call,
                      .value = partial ? 1u : 0u,
                      .other = lost_of(answer)});
    is_complete_ = is_complete_ && !answer.cause && !partial;
    if (answer.cause) note_cause(call, *answer.cause);
  }
}

void driver_life::note_cause(std::uint64_t call, const error& cause) {
  const auto now = around_.now.count();
  unsigned long long named_call = 0;
  unsigned long long index = 0;
  const std::size_t at = cause.where.find("call ");
  if (at != std::string::npos &&
      std::sscanf(cause.where.c_str() + at, "call %llu, micro-batch %llu", &named_call, &index) == 2) {
    parts_.seen.note({.at_ns = now, .what = happening::named, .call = named_call, .index = index, .value = call});
  }
  unsigned pid = 0;
  const std::size_t process = cause.where.find("(process ");
  if (process != std::string::npos) static_cast<void>(std::sscanf(cause.where.c_str() + process, "(process %u", &pid));
  std::uint64_t hash = 0;
  for (const char each : to_string(cause)) hash = mix(hash, static_cast<unsigned char>(each));
  parts_.seen.note({.at_ns = now,
                    .what = happening::blamed,
                    .worker = pid == 0 ? 0 : pid - simulated_process::first_pid,
                    .call = call,
                    .value = hash});
}

/// As running_topology::watch().
void driver_life::poll() {
  later_.at(around_.now + look_interval, [this] { poll(); });
  if (is_stopped_ || !director_) return;
  loader_engine& loader = *engines_->loader;
  if (const auto lost = losses_->look(loader.low_water(), loader.sent(), *engines_->accounts, around_.now)) {
    post(director_, work_lost{*lost, around_.now});
  }
}

}  // namespace troupe::simulation
