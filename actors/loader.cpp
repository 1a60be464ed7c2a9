#include "actors/loader.hpp"

namespace troupe {

loader_listener report_to(const loader_actor& loader, const loader_engine& engine) {
  const weak_face<loader_actor> face{loader};
  return {.on_end_of_call = [face](end_of_call end) { face.tell(end); },
          .on_failure = [face](failure what) { face.tell(std::move(what)); },
          .on_paused = [face](loading_paused paused) { face.tell(paused); },
          .on_finished = [face, address = engine.address()] { face.tell(stopped{.address = address}); }};
}

loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   std::shared_ptr<loader_engine> engine, director_actor director,
                                   aggregator_actor aggregator) {
  self->state.engine = engine;
  self->state.aggregator = std::move(aggregator);
  auto order = [self, director](loader_command_t command) {
    if (self->state.engine->command(std::move(command))) return;
    tell(self, director, queue_full_failure(*self->state.engine));
  };
  return {
      [=](const open_call& open) {
        order(loader_command::begin_call{open.ticket->number, open.ticket->source, open.ticket->start.first()});
      },
      [=](const low_water& low) { self->state.engine->low_water(low.mark); },
      [=](const cancel_call& cancel) { order(loader_command::cancel_call{cancel.call}); },
      [=](const cut_calls_below& cut) { order(loader_command::cut_calls{cut.number}); },
      [=](const stop_request&) { static_cast<void>(self->state.engine->command(loader_command::stop{})); },
      [=](const pause_loading& pause) { order(loader_command::pause{pause.round}); },
      [=](const rewire_loader& rewire) { order(loader_command::rewire{rewire.edges}); },
      [=](const end_of_call& end) { tell(self, self->state.aggregator, end); },
      [=](const meet_aggregator& meet) { self->state.aggregator = meet.aggregator; },
      [=](const loading_paused& paused) { tell(self, director, paused); },
      [=](const failure& what) { tell(self, director, what); },
      [=](const stopped& what) { tell(self, director, what); },
  };
}

}  // namespace troupe
