#include "actors/loader.hpp"

namespace troupe {

loader_listener report_to(const loader_actor& loader, const loader_engine& engine) {
  const weak_actor<loader_actor> actor{loader};
  return {.on_call_size = [actor](call_size end) { actor.tell(end); },
          .on_failure = [actor](failure what) { actor.tell(std::move(what)); },
          .on_paused = [actor](loading_paused paused) { actor.tell(paused); },
          .on_finished = [actor, address = engine.address()] { actor.tell(stopped{.address = address}); }};
}

loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   std::shared_ptr<loader_engine> engine, const director_actor& director,
                                   aggregator_actor aggregator) {
  self->state.engine = std::move(engine);
  self->state.aggregator = std::move(aggregator);
  auto order = [self, director](loader_command_t command) {
    if (self->state.engine->command(std::move(command))) return;
    tell(self, director, queue_full_failure(*self->state.engine));
  };
  return {
      [=](const open_ticket& open) {
        order(loader_command::open_call{open.ticket->number, open.ticket->source, open.ticket->start.first()});
      },
      [=](const low_water& low) { self->state.engine->low_water(low.mark); },
      [=](const cancel_call& cancel) { order(loader_command::cancel_call{cancel.call}); },
      [=](const cut_calls_below& cut) { order(loader_command::cut_calls{cut.number}); },
      [=](const stop_request&) { self->state.engine->stop(); },
      [=](const pause_loading& pause) { order(loader_command::pause{pause.round}); },
      [=](const start_loader_epoch& start_epoch) { order(loader_command::start_epoch{start_epoch.edges}); },
      [=](const call_size& end) { tell(self, self->state.aggregator, end); },
      [=](const meet_aggregator& meet) { self->state.aggregator = meet.aggregator; },
      [=](const loading_paused& paused) { tell(self, director, paused); },
      [=](const failure& what) { tell(self, director, what); },
      [=](const stopped& what) { tell(self, director, what); },
  };
}

}  // namespace troupe
