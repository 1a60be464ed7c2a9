#pragma once

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "actors/director.hpp"
#include "actors/local_stages.hpp"
#include "hashes.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"

namespace troupe::testing {

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

struct nothing final : payload {};

struct echo_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
};

struct idle_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr&, const activation&, score&) override { return {}; }
};

struct counted_source final : micro_batch_source {
  explicit counted_source(std::uint64_t n) : end(n) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    ++position;
    return loaded_micro_batch{{position - 1, position}, std::make_shared<const nothing>(), nullptr};
  }
  std::uint64_t position = 0;
  std::uint64_t end;
};

/// The test steps the engines, or does not.
struct idle_host final : engine_host {
  [[nodiscard]] expected<void> start(std::shared_ptr<engine>) override { return {}; }
};

/// The actor of a stage whose worker is frozen.
struct deaf_stage_state {
  static inline const char* name = "deaf_stage";
  std::vector<caf::typed_response_promise<call_opened>> asked;
};

inline stage_actor::behavior_type deaf_stage(stage_actor::stateful_pointer<deaf_stage_state> self,
                                             std::shared_ptr<int> times_asked,
                                             std::shared_ptr<std::vector<stop_mode>> told_to_stop) {
  return {[=](const open_ticket&) -> caf::result<call_opened> {
            ++*times_asked;
            self->state.asked.push_back(self->make_response_promise<call_opened>());
            return self->state.asked.back();
          },
          [](const release_call&) {},
          [](const cancel_call&) {},
          [](const step_decision&) {},
          [](const meet_aggregator&) {},
          [=](const stop_request& stop) { told_to_stop->push_back(stop.mode); }};
}

/// Stages that never do anything but have actors; remembers what was wired.
struct noting_provider final : local_stages {
  noting_provider(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host)
      : local_stages(std::move(engines), std::move(host)) {}
  [[nodiscard]] expected<stage_actor> start(director_actor::pointer director, const aggregator_actor& aggregator,
                                            stage_address at, incarnation_number incarnation) override {
    if (deaf) return stage_actor{director->spawn<caf::monitored>(deaf_stage, times_asked, told_to_stop)};
    return introduce(*std::ranges::find(engines_->stages, at, &compute_engine::address), director, aggregator,
                     incarnation);
  }
  [[nodiscard]] expected<std::shared_ptr<engine_wiring>> wire(const epoch_request& round) override {
    if (broken) throw std::runtime_error("no descriptor is left");
    from.push_back(round.from);
    epoch = round.epoch;
    return local_stages::wire(round);
  }
  [[nodiscard]] bool end(stage_address, const error& why) override {
    if (has_processes) ended_for.push_back(why.cause);
    return has_processes;
  }
  std::vector<micro_batch_id> from;
  epoch_number epoch = 0;
  bool broken = false;
  /// Stages that are made from now on answer nothing.
  bool deaf = false;
  bool has_processes = false;
  std::vector<std::string> ended_for;
  std::shared_ptr<int> times_asked = std::make_shared<int>(0);
  /// What each of these stages was told.
  std::shared_ptr<std::vector<stop_mode>> told_to_stop = std::make_shared<std::vector<stop_mode>>();
};

inline std::shared_ptr<assembly> one_stage() {
  auto made = assemble(
      *expand(make_chain({.stages = 1, .replicas = 1, .num_pipe_buffers = 4})), std::make_shared<inproc_edge_factory>(),
      [](stage_address) { return std::make_shared<echo_body>(); }, {.depths = {.from_loader = limits::prefetch_slots}});
  return std::make_shared<assembly>(std::move(*made));
}

/// The production director, aggregator and loader's actor in one thread; the test steps the loader's engine and speaks
/// for the one stage.
struct directed_run {
  explicit directed_run(std::chrono::nanoseconds request_timeout = limits::control_request_timeout) {
    const auto note = [this](const caf::actor& child) { children.push_back(child); };
    directs =
        system.spawn(director, director_options{.engines = engines,
                                                .ledger = std::make_shared<fold_ledger>(engines->ledger_options()),
                                                .host = host,
                                                .provider = provider,
                                                .reports = reports,
                                                .request_timeout = request_timeout,
                                                .on_child = note,
                                                .on_stopped = [this] { ended = true; }});
    settle();
    post(directs, stage_ready{stage, 0});
    settle();
  }
  ~directed_run() {
    post(directs, stop_request{stop_mode::abort});
    settle();
    post(directs, stopped{.address = stage, .incarnation = incarnation});
    settle();
  }

  /// A call of `count` micro-batches, of which an earlier run has folded the first `folded`.
  void submit(std::uint64_t count, std::uint64_t folded = 0) {
    auto ticket = std::make_shared<call_ticket>();
    source = std::make_shared<counted_source>(count - folded);
    ticket->source = source;
    ticket->start.folded = {folded};
    ticket->make_scorer = [](std::uint32_t) { return std::make_shared<idle_scorer>(); };
    ticket->folds = {std::make_shared<hash_fold>()};
    outcome = ticket->done.get_future();
    submitted = ticket;
    post(directs, open_ticket{ticket});
    settle();
  }
  /// What the director tells the loader's actor meanwhile is lost.
  template <class F>
  void while_the_loaders_actor_dies(F&& tell_director) {
    caf::anon_send_exit(children.back(), caf::exit_reason::kill);
    tell_director();
    const auto aggregates = children.front();
    for (const caf::actor& next :
         {caf::actor_cast<caf::actor>(directs), aggregates, caf::actor_cast<caf::actor>(directs)}) {
      if (scheduler().prioritize(next)) scheduler().run_once();
    }
    settle();
  }
  /// The loader pauses before it hears of this score, and the director hears of all that follows from it before it
  /// hears of the pause.
  void replace_stage_while_folding(micro_batch_id id) {
    post(directs, stage_lost{stage, incarnation, {}, std::nullopt});
    post(directs, stage_ready{stage, ++incarnation});
    actors();
    score_of(id);
    static_cast<void>(engines->loader->step());
    settle();
  }
  void replace_stage(const std::string& how = {}) {
    post(directs,
         stage_lost{
             stage, incarnation, {error_code::stage_lost, "stage 0", how, {}}, std::nullopt, 3, "stage 0 (process 7)"});
    post(directs, stage_ready{stage, ++incarnation});
    settle();
  }
  /// In steps, as time passes for a process that runs.
  void pass_in_steps(std::chrono::milliseconds time) {
    for (std::chrono::seconds passed{0}; passed < time; ++passed) pass_time(std::chrono::seconds{1});
  }
  [[nodiscard]] bool is_open() const { return outcome.wait_for(std::chrono::seconds{0}) != std::future_status::ready; }
  /// Lines of the log since the last time that have this piece.
  [[nodiscard]] std::vector<std::string> log_with(const std::string& piece) {
    std::vector<std::string> found;
    for (const log_record& record : reports->take({}).log_lines) {
      const std::string line = to_string(record);
      if (line.find(piece) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  void score_of(micro_batch_id id) {
    score made;
    made.id = id;
    post(caf::actor_cast<aggregator_actor>(children.front()), score_batch{{made}});
  }
  /// All actors have done what they were told, and so has the loader's engine.
  void settle() {
    for (int turns = 0; turns < 20; ++turns) {
      actors();
      static_cast<void>(engines->loader->step());
    }
    actors();
  }
  void edge_lost_in(epoch_number epoch) {
    post(directs, edge_lost{epoch, {error_code::peer_lost, "edge 0", "the connection broke", {}}});
    settle();
  }
  void work_lost_at(micro_batch_id id) {
    post(directs, work_lost{id, steady_now()});
    settle();
  }
  void pass_time(std::chrono::nanoseconds time) {
    scheduler().advance_time(time);
    settle();
  }
  void actors() { scheduler().run(); }
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

  const stage_address stage{0, 0};
  incarnation_number incarnation = 0;
  std::shared_ptr<assembly> engines = one_stage();
  std::shared_ptr<report_box> reports = std::make_shared<report_box>();
  std::shared_ptr<idle_host> host = std::make_shared<idle_host>();
  std::shared_ptr<noting_provider> provider = std::make_shared<noting_provider>(engines, host);
  /// The aggregator, the loader's actor, and what came in their place.
  std::vector<caf::actor> children;
  testing_config config;
  caf::actor_system system{config};
  director_actor directs;
  /// Of the call that was submitted last.
  std::future<call_outcome> outcome;
  std::shared_ptr<counted_source> source;
  call_ticket_ptr submitted;
  bool ended = false;
};

}  // namespace troupe::testing
