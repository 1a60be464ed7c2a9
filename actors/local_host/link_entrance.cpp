#include "actors/local_host/link_entrance.hpp"

namespace troupe {

link_entrance_actor::behavior_type link_entrance(link_entrance_actor::stateful_pointer<link_entrance_state> self,
                                                 const hosted_worker_ptr& worker,
                                                 const std::shared_ptr<worker_listener>& listener) {
  return self->state.start(worker, listener);
}

link_entrance_actor::behavior_type link_entrance_state::start(const hosted_worker_ptr& worker,
                                                              const std::shared_ptr<worker_listener>& listener) {
  self->set_down_handler([worker, listener](const caf::down_msg&) { listener->link_lost(worker); });
  return {[this, worker, listener](const wire_message& message) {
            const auto bytes = bytes_of(message);
            if (knows_worker()) listener->said(worker, codec::bytes(bytes.begin(), bytes.end()));
          },
          [this](const outgoing& what) {
            if (worker_actor) tell(self, worker_actor, wire_of(what.message));
          },
          [this, worker, listener](const process_ended& what) {
            listener->exited(worker, what.report);
            self->quit();
          }};
}

bool link_entrance_state::knows_worker() {
  if (worker_actor) return true;
  if (!self->current_sender()) return false;
  worker_actor = caf::actor_cast<wire_actor>(self->current_sender());
  self->monitor(worker_actor);
  return true;
}

}  // namespace troupe
