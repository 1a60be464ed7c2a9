#include "actors/stage.hpp"

namespace troupe {

stage_listener report_to(const director_actor& director, const aggregator_actor& aggregator,
                         const compute_engine& engine, incarnation_number incarnation) {
  const weak_actor<director_actor> reports{director};
  const weak_actor<aggregator_actor> folds{aggregator};
  return {.on_ready = [reports, ready = stage_ready{engine.address(), incarnation}] { reports.tell(ready); },
          .on_scores = [folds](std::vector<score> scores) { folds.tell(score_batch{std::move(scores)}); },
          .on_vote =
              [reports, incarnation](step_vote vote) {
                vote.incarnation = incarnation;
                reports.tell(std::move(vote));
              },
          .on_failure = [reports](failure what) { reports.tell(std::move(what)); },
          .on_finished =
              [reports, &engine, incarnation] {
                const stage_counters& counters = engine.page()->counters;
                reports.tell(stopped{.address = engine.address(),
                                     .incarnation = incarnation,
                                     .micro_batches = counters.micro_batches.load(),
                                     .forward_nanoseconds = counters.forward_ns.load()});
              }};
}

local_stage_actor::behavior_type stage(local_stage_actor::stateful_pointer<stage_state> self,
                                       std::shared_ptr<compute_engine> engine, const director_actor& director,
                                       incarnation_number incarnation) {
  self->state.engine = std::move(engine);
  auto order = [self, director](stage_command_t command) {
    if (self->state.engine->command(std::move(command))) return;
    tell(self, director, queue_full_failure(*self->state.engine));
  };
  return {
      [=](const open_ticket& open) {
        stage_command::open_call begin{open.ticket->number, open.ticket->start.first(), {}, open.ticket->trains};
        for (const std::uint32_t sink : self->state.engine->sinks()) {
          begin.scorers.push_back(open.ticket->make_scorer(sink));
        }
        order(std::move(begin));
        return call_opened{open.ticket->number};
      },
      [=](const release_call& end) { order(stage_command::release_call{end.call}); },
      [=](const cancel_call& cancel) { order(stage_command::cancel_call{cancel.call}); },
      [=](const step_decision& decision) { order(stage_command::decide_step{decision}); },
      [=](const meet_aggregator& meet) {
        const compute_engine& reporting = *self->state.engine;
        order(stage_command::listen{report_to(director, meet.aggregator, reporting, incarnation)});
      },
      [=](const stop_request&) { self->state.engine->stop(); },
      [=](const start_stage_epoch& start_epoch) {
        order(stage_command::start_epoch{start_epoch.edges, start_epoch.from, start_epoch.epoch});
      },
  };
}

}  // namespace troupe
