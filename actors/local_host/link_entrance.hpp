#pragma once

#include <memory>

#include "actors/link/wire_message.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe {

/// For the worker, from its driver.
struct outgoing {
  codec::bytes message;
};
/// Of the worker, from its process host's thread.
struct process_ended {
  exit_report report;
};
/// The driver's side of one worker's link: one for each link, so that the link tells which worker is there. Lives until
/// the process has ended, of which it tells last.
using link_entrance_actor = wire_actor::extend<cast<outgoing>, cast<process_ended>>;

struct link_entrance_state {
  static inline const char* name = "link_entrance";
  explicit link_entrance_state(link_entrance_actor::pointer owner) : self(owner) {}

  link_entrance_actor::behavior_type start(const hosted_worker_ptr& worker,
                                           const std::shared_ptr<worker_listener>& listener);
  /// The worker's actor is who says the first words.
  [[nodiscard]] bool knows_worker();

  link_entrance_actor::pointer self;
  wire_actor worker_actor;
};

/// What comes over the link is told to `listener` as of `worker`.
link_entrance_actor::behavior_type link_entrance(link_entrance_actor::stateful_pointer<link_entrance_state> self,
                                                 const hosted_worker_ptr& worker,
                                                 const std::shared_ptr<worker_listener>& listener);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::outgoing)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::process_ended)
