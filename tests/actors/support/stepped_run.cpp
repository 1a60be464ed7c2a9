#include "stepped_run.hpp"

#include <algorithm>
#include <random>

#include <caf/detail/test_actor_clock.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/director.hpp"
#include "actors/local_stages.hpp"
#include "hashes.hpp"
#include "messages/check.hpp"
#include "stepped_engines.hpp"
#include "testing/simulated_edge.hpp"

namespace troupe::testing {
namespace {

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

bool is_ready(const std::future<call_outcome>& outcome) {
  return outcome.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

class stepped_run {
 public:
  explicit stepped_run(stepped_options options) : options_(std::move(options)), random_(options_.seed) {
    clock().current_time += std::chrono::hours{1};
    network_ =
        std::make_shared<simulated_network>(simulated_network_options{.enforce_credits = options_.enforce_credits});
    auto plan = expand(options_.graph);
    TROUPE_CHECK(plan, "the graphs of tests are valid");
    const wiring_plan wired = *plan;
    const assembly_options made{.depths = options_.depths, .trace = &trace_clock_, .now = [this] { return now(); }};
    auto engines = assemble(
        std::move(*plan), network_,
        [&](stage_address at) -> expected<std::shared_ptr<stage_body>> {
          return options_.make_body(wired.nodes[at.stage], at);
        },
        made);
    engines_ = std::make_shared<assembly>(std::move(*engines));
    provider_ = std::make_shared<local_stages>(engines_, host_);
    director_ =
        system_.spawn(director, director_plan{.engines = engines_,
                                              .ledger = std::make_shared<fold_ledger>(engines_->ledger_options()),
                                              .host = host_,
                                              .provider = provider_,
                                              .reports = std::make_shared<report_box>(),
                                              .on_stopped = [this] { stopped_ = true; }});
  }

  stepped_report run() {
    for (const stepped_call& call : options_.calls) submit(call);
    const bool ended = move_until([this] { return std::ranges::all_of(outcomes_, is_ready); });
    post(director_, stop_request{ended ? stop_mode::drain : stop_mode::abort});
    const bool stopped = move_until([this] { return stopped_ && !scheduler().has_job(); });
    report_.deadlock = !ended || !stopped;
    // A run that did not end is a finding, not a reason to wait for its actors for ever.
    system_.await_actors_before_shutdown(!report_.deadlock);
    conclude();
    return std::move(report_);
  }

 private:
  static constexpr std::uint64_t moves_max = 400000;
  /// Scores may wait for so long, and all others for them.
  static constexpr int idle_ticks_max = 50 + limits::score_delay_max / std::chrono::milliseconds{1};

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  caf::detail::test_actor_clock& clock() { return scheduler().clock(); }
  std::chrono::nanoseconds now() { return clock().current_time.time_since_epoch(); }

  void submit(const stepped_call& call) {
    tickets_.push_back(std::make_shared<call_ticket>());
    call_ticket& ticket = *tickets_.back();
    ticket.source = call.source;
    ticket.make_scorer = call.make_scorer;
    ticket.folds = call.folds;
    ticket.start = call.start;
    outcomes_.push_back(ticket.done.get_future());
    post(director_, open_ticket{tickets_.back()});
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
    const std::size_t jobs = scheduler().jobs.size();
    const std::size_t deliveries = network_->pending();
    std::vector<std::size_t> ready;
    for (std::size_t index = 0; index < host_->entries.size(); ++index) {
      if (host_->entries[index].may_have_work()) ready.push_back(index);
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
    if (each.slowness > 1 && random_() % each.slowness != 0) return moved::looked_around;
    return each.step() ? moved::progressed : moved::looked_around;
  }

  void tick() {
    scheduler().advance_time(std::chrono::milliseconds{1});
    for (auto& each : host_->entries) each.idle_since.reset();
  }

  void note(std::uint64_t a, std::uint64_t b) { report_.moves_digest = mix(mix(report_.moves_digest, a), b); }

  void conclude() {
    for (std::future<call_outcome>& each : outcomes_) {
      report_.outcomes.push_back(is_ready(each) ? each.get() : call_outcome{});
    }
    report_.overrun = network_->overrun();
    report_.replayed = engines_->loader->counters().replayed;
    report_.kept_max = engines_->loader->counters().kept_max;
    report_.window = engines_->window;
    report_.window_min = engines_->window_min;
    if (auto trace = trace_of(*engines_)) report_.trace = std::move(*trace);
    note(report_.trace.size(), report_.replayed);
  }

  stepped_options options_;
  std::mt19937_64 random_;
  stepped_report report_;
  trace_clock trace_clock_;
  std::shared_ptr<simulated_network> network_;
  std::shared_ptr<stepped_engines> host_ = std::make_shared<stepped_engines>(options_.slowness);
  std::shared_ptr<assembly> engines_;
  std::shared_ptr<local_stages> provider_;
  std::vector<call_ticket_ptr> tickets_;
  std::vector<std::future<call_outcome>> outcomes_;
  bool stopped_ = false;
  testing_config config_;
  caf::actor_system system_{config_};
  director_actor director_;
};

}  // namespace

std::uint64_t kept_limit(const stepped_report& report, std::uint64_t micro_batch_bytes) {
  if (micro_batch_bytes == 0) return report.window;
  const std::uint64_t fit = (limits::window_bytes + micro_batch_bytes - 1) / micro_batch_bytes;
  return std::min(report.window, std::max(report.window_min, fit));
}

stepped_report run_stepped(stepped_options options) {
  return stepped_run{std::move(options)}.run();
}

}  // namespace troupe::testing
