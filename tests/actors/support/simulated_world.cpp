#include "simulated_world.hpp"

#include <algorithm>
#include <random>
#include <sstream>

#include <caf/detail/test_actor_clock.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <troupe/actors/director.hpp>
#include <troupe/runtime/edge/simulated/simulated_edge.hpp>

namespace troupe::testing {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15;
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

std::uint64_t input_hash(micro_batch_id id) {
  return mix(id.call + 1, id.index + 1);
}

struct hash_payload final : payload {
  explicit hash_payload(std::uint64_t v) : value(v) {}
  std::uint64_t value;
};

std::uint64_t value_of(const payload_ptr& handle) {
  return static_cast<const hash_payload&>(*handle).value;
}

struct hash_body final : stage_body {
  hash_body(stage_index s, const world_options& o) : stage(s), options(o) {}
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override {
    if (stage == 0 && options.fail_always.contains(input.id)) throw std::runtime_error("fails always");
    if (stage == 0 && options.fail_once.contains(input.id) && failed.insert(input.id).second) {
      return fail(error_code::forward_failed, "test", "fails once");
    }
    return std::make_shared<const hash_payload>(mix(value_of(input.tensors), stage));
  }
  stage_index stage;
  const world_options& options;
  std::set<micro_batch_id> failed;
};

struct hash_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation&, score& into) override {
    into.words = {value_of(outputs)};
    return {};
  }
};

struct hash_fold final : call_fold {
  [[nodiscard]] expected<void> fold(const score& next) override {
    folded.push_back(next.id.index);
    digest = mix(digest, next.words.at(0));
    return {};
  }
  std::vector<std::uint64_t> folded;
  std::uint64_t digest = 0;
};

struct counted_source final : micro_batch_source {
  counted_source(call_number c, std::uint64_t n) : call(c), end(n) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    const std::uint64_t index = position++;
    return loaded_micro_batch{
        {index, index + 1}, std::make_shared<const hash_payload>(input_hash({call, index})), nullptr};
  }
  call_number call;
  std::uint64_t end;
  std::uint64_t position = 0;
};

/// Engines are stepped by the world.
struct stepped_engines final : engine_host {
  struct entry {
    std::shared_ptr<engine> driven;
    bool finished = false;
    std::optional<std::uint32_t> idle_since;  // its bell's epoch when it last found nothing to do
  };
  [[nodiscard]] expected<void> start(std::shared_ptr<engine> engine) override {
    engine->on_thread_start();
    entries.push_back({std::move(engine), false, std::nullopt});
    return {};
  }
  std::vector<entry> entries;
};

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

class world {
 public:
  explicit world(const world_options& options) : options_(options), random_(options.seed) {
    clock().current_time += std::chrono::hours{1};
    network_ =
        std::make_shared<simulated_network>(simulated_network_options{.enforce_credits = options.enforce_credits});
    auto plan = expand(make_chain(
        {.stages = options.stages, .replicas = options.replicas, .num_pipe_buffers = options.num_pipe_buffers}));
    auto engines =
        assemble(std::move(*plan), network_,
                 [&](stage_address at) -> expected<std::shared_ptr<stage_body>> {
                   return std::make_shared<hash_body>(at.stage, options_);
                 },
                 {.prefetch_slots = options.prefetch_slots, .trace = &trace_clock_, .now = [this] { return now(); }});
    engines_ = std::make_shared<assembly>(std::move(*engines));
    auto ledger = engines_->ledger_options();
    ledger.deduplicate = options.deduplicate;
    director_ = system_.spawn(director, director_plan{.engines = engines_,
                                                      .ledger = std::make_shared<fold_ledger>(ledger),
                                                      .host = host_,
                                                      .reports = std::make_shared<report_box>(),
                                                      .on_stopped = [this] { stopped_ = true; }});
  }

  world_report run() {
    for (call_number call = 0; call < options_.calls.size(); ++call) submit(call);
    const bool ended = move_until([this] { return all_ended(); });
    post(director_, stop_request{ended ? stop_mode::drain : stop_mode::abort});
    options_.replays_per_1000 = 0;
    const bool stopped = move_until([this] { return stopped_ && !scheduler().has_job(); });
    report_.deadlock = !ended || !stopped;
    // A run that did not end is a finding, not a reason to wait for its actors for ever.
    system_.await_actors_before_shutdown(!report_.deadlock);
    conclude();
    return std::move(report_);
  }

 private:
  static constexpr std::uint64_t moves_max = 400000;
  static constexpr int idle_ticks_max = 50;

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  caf::detail::test_actor_clock& clock() { return scheduler().clock(); }
  std::chrono::nanoseconds now() { return clock().current_time.time_since_epoch(); }

  void submit(call_number call) {
    auto ticket = std::make_shared<call_ticket>();
    folds_.push_back(std::make_shared<hash_fold>());
    ticket->source = std::make_shared<counted_source>(call, options_.calls[call]);
    ticket->make_scorer = [](std::uint32_t) { return std::make_shared<hash_scorer>(); };
    ticket->folds = {folds_.back()};
    outcomes_.push_back(ticket->done.get_future());
    post(director_, open_call{ticket});
  }

  bool all_ended() {
    return std::all_of(outcomes_.begin(), outcomes_.end(),
                       [](auto& each) { return each.wait_for(std::chrono::seconds{0}) == std::future_status::ready; });
  }

  template <class Done>
  bool move_until(Done done) {
    int idle_ticks = 0;
    while (!done()) {
      if (++report_.moves > moves_max) return false;
      switch (move()) {
        case moved::progressed:
          idle_ticks = 0;
          break;
        case moved::looked_around:
          break;
        case moved::nothing:
          if (++idle_ticks > idle_ticks_max) return false;
          tick();
      }
    }
    return true;
  }

  /// An engine that was stepped and found nothing to do has only looked around.
  enum class moved { nothing, looked_around, progressed };

  /// One seeded choice among all jobs of actors, all deliverable messages and all engines that may have work.
  moved move() {
    if (random_() % 1000 < options_.replays_per_1000) {
      static_cast<void>(engines_->loader->command(loader_command::replay{}));
    }
    const std::size_t jobs = scheduler().jobs.size();
    const std::size_t deliveries = network_->pending();
    std::vector<std::size_t> ready;
    for (std::size_t index = 0; index < host_->entries.size(); ++index) {
      const auto& each = host_->entries[index];
      if (!each.finished && each.idle_since != each.driven->bell().epoch()) ready.push_back(index);
    }
    const std::size_t choices = jobs + deliveries + ready.size();
    if (choices == 0) return moved::nothing;
    const std::size_t choice = random_() % choices;
    note(choices, choice);
    if (choice < jobs) {
      std::swap(scheduler().jobs[choice], scheduler().jobs.front());
      scheduler().try_run_once();
    } else if (choice < jobs + deliveries) {
      network_->deliver(choice - jobs);
    } else {
      return step(host_->entries[ready[choice - jobs - deliveries]]);
    }
    return moved::progressed;
  }

  moved step(stepped_engines::entry& each) {
    const auto* stage = dynamic_cast<const stage_engine*>(each.driven.get());
    if (stage != nullptr && stage->address().replica == 0 && random_() % options_.slowness_of_replica_0 != 0) {
      return moved::looked_around;
    }
    const std::uint32_t epoch = each.driven->bell().epoch();
    switch (each.driven->step()) {
      case step_result::progressed:
        each.idle_since.reset();
        break;
      case step_result::idle:
        each.idle_since = epoch;
        return moved::looked_around;
      case step_result::finished:
        each.finished = true;
        break;
    }
    return moved::progressed;
  }

  void tick() {
    scheduler().advance_time(std::chrono::milliseconds{1});
    for (auto& each : host_->entries) each.idle_since.reset();
  }

  void note(std::uint64_t a, std::uint64_t b) { report_.moves_digest = mix(mix(report_.moves_digest, a), b); }

  void conclude() {
    for (std::size_t call = 0; call < outcomes_.size(); ++call) {
      call_report each;
      if (outcomes_[call].wait_for(std::chrono::seconds{0}) == std::future_status::ready)
        each.outcome = outcomes_[call].get();
      each.folded = folds_[call]->folded;
      each.digest = folds_[call]->digest;
      note(each.folded.size(), each.digest);
      report_.calls.push_back(std::move(each));
    }
    report_.overrun = network_->overrun();
    report_.replayed = engines_->loader->counters().replayed;
    report_.kept_max = engines_->loader->counters().kept_max;
    report_.window = engines_->window;
    if (auto trace = trace_of(*engines_)) report_.trace = std::move(*trace);
    note(report_.trace.size(), report_.replayed);
  }

  world_options options_;
  std::mt19937_64 random_;
  world_report report_;
  trace_clock trace_clock_;
  std::shared_ptr<simulated_network> network_;
  std::shared_ptr<stepped_engines> host_ = std::make_shared<stepped_engines>();
  std::shared_ptr<assembly> engines_;
  std::vector<std::shared_ptr<hash_fold>> folds_;
  std::vector<std::future<call_outcome>> outcomes_;
  bool stopped_ = false;
  testing_config config_;
  caf::actor_system system_{config_};
  director_actor director_;
};

}  // namespace

world_report simulate(const world_options& options) {
  return world{options}.run();
}

std::uint64_t expected_digest(const world_options& options, call_number call) {
  std::uint64_t digest = 0;
  for (std::uint64_t index = 0; index < options.calls[call]; ++index) {
    std::uint64_t value = input_hash({call, index});
    for (stage_index stage = 0; stage < options.stages; ++stage) value = mix(value, stage);
    digest = mix(digest, value);
  }
  return digest;
}

std::string fault_in(const world_options& options, const world_report& report) {
  if (report.deadlock) return "the run did not end";
  if (report.overrun) return "an edge held more micro-batches than it has slots";
  if (report.kept_max > report.window) return "the loader ran further ahead than its window";
  for (call_number call = 0; call < options.calls.size(); ++call) {
    const call_report& each = report.calls[call];
    const std::string name = "call " + std::to_string(call) + ": ";
    const auto of_call = [&](const micro_batch_id& id) { return id.call == call && id.index < options.calls[call]; };
    if (std::any_of(options.fail_always.begin(), options.fail_always.end(), of_call)) {
      if (!each.outcome.tally.cancelled || !each.outcome.cause) return name + "a failed forward did not fail the call";
      continue;
    }
    if (each.outcome.tally.cancelled) return name + "cancelled: " + to_string(*each.outcome.cause);
    if (each.outcome.tally.folded != options.calls[call]) return name + "folded the wrong number of micro-batches";
    if (each.outcome.tally.expected != options.calls[call]) return name + "the loader counted wrong";
    if (each.folded.size() != options.calls[call]) return name + "a micro-batch was folded twice or never";
    if (each.digest != expected_digest(options, call)) return name + "wrong bits, or folded out of order";
  }
  return {};
}

std::string describe(const world_options& o) {
  std::ostringstream text;
  text << "seed " << o.seed << ", stages " << o.stages << ", replicas " << o.replicas << ", buffers "
       << o.num_pipe_buffers << ", prefetch " << o.prefetch_slots << ", slowness " << o.slowness_of_replica_0
       << ", replays per 1000 " << o.replays_per_1000 << ", calls";
  for (const std::uint64_t count : o.calls) text << ' ' << count;
  return text.str();
}

}  // namespace troupe::testing
