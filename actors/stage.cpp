#include "actors/stage.hpp"

namespace troupe {

stage_listener report_to(const stage_actor& stage, const stage_engine& engine, incarnation_number incarnation) {
  const weak_actor<stage_actor> actor{stage};
  return {.on_ready = [actor, ready = stage_ready{engine.address(), incarnation}] { actor.tell(ready); },
          .on_scores = [actor](std::vector<score> scores) { actor.tell(score_batch{std::move(scores)}); },
          .on_failure = [actor](failure what) { actor.tell(std::move(what)); },
          .on_finished =
              [actor, &engine, incarnation] {
                actor.tell(stopped{.address = engine.address(),
                                   .incarnation = incarnation,
                                   .micro_batches = engine.counters().micro_batches.load(),
                                   .forward_nanoseconds = engine.counters().forward_ns.load()});
              }};
}

stage_actor::behavior_type stage(stage_actor::stateful_pointer<stage_state> self, std::shared_ptr<stage_engine> engine,
                                 const director_actor& director, aggregator_actor aggregator) {
  self->state.engine = std::move(engine);
  self->state.aggregator = std::move(aggregator);
  auto order = [self, director](stage_command_t command) {
    if (self->state.engine->command(std::move(command))) return;
    tell(self, director, queue_full_failure(*self->state.engine));
  };
  return {
      [=](const open_ticket& open) {
        stage_command::open_call begin{open.ticket->number, open.ticket->start.first(), {}};
        for (const std::uint32_t sink : self->state.engine->sinks()) {
          begin.scorers.push_back(open.ticket->make_scorer(sink));
        }
        order(std::move(begin));
        return call_opened{open.ticket->number};
      },
      [=](const release_call& end) { order(stage_command::release_call{end.call}); },
      [=](const cancel_call& cancel) { order(stage_command::cancel_call{cancel.call}); },
      [=](const start_stage_epoch& start_epoch) {
        order(stage_command::start_epoch{start_epoch.edges, start_epoch.from});
      },
      [=](const stop_request&) { self->state.engine->stop(); },
      [=](const stage_ready& ready) { tell(self, director, ready); },
      [=](score_batch& batch) { tell(self, self->state.aggregator, std::move(batch)); },
      [=](const meet_aggregator& meet) { self->state.aggregator = meet.aggregator; },
      [=](const failure& what) { tell(self, director, what); },
      [=](const stopped& what) { tell(self, director, what); },
  };
}

}  // namespace troupe
