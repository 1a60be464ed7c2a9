#pragma once

#include <memory>

#include "actors/caf.hpp"
#include "actors/call_ticket.hpp"
#include "messages/call_size.hpp"
#include "messages/failure.hpp"
#include "messages/lifecycle.hpp"
#include "messages/score_batch.hpp"
#include "messages/training.hpp"
#include "messages/worker.hpp"
#include "runtime/flow/loader_engine.hpp"
#include <troupe/log_record.hpp>

/// The messages between actors, and the interfaces of the actors (docs/messages.md has the table). Within a process,
/// CAF hands messages over as objects. Between processes they travel as bytes that messages/codec has made. CAF's own
/// serializer is not used, and so all of them are declared as "unsafe" for it.
namespace troupe {

/// director -> aggregator, stages, loader: open_call with the objects that the receiver needs for the call. A program
/// sends it to the director to submit a call.
struct open_ticket {
  call_ticket_ptr ticket;
};
/// aggregator -> director: the call is complete, was cancelled, or has failed in a fold.
struct call_completed {
  call_tally tally;
};
/// the program -> director: the call of this ticket is to be cancelled, if it is still open.
struct cancel_ticket {
  call_ticket_ptr ticket;
  error cause;
};
/// the program -> director: every open call is to end after the micro-batches that were sent.
struct cut_calls {};
/// director -> loader: the same, for all calls below this one.
struct cut_calls_below {
  call_number number = 0;
};
/// director -> loader, after loading_paused: loader_command::start_epoch.
struct start_loader_epoch {
  std::shared_ptr<engine_wiring> edges;
};
/// stage_provider -> a stage of this process: stage_command::start_epoch.
struct start_stage_epoch {
  std::shared_ptr<engine_wiring> edges;
  micro_batch_id from;
  epoch_number epoch = 0;
};
/// director -> itself: limits::edge_loss_patience has passed since edge_lost came.
struct edge_still_lost {
  edge_lost news;
};
/// the program -> director: the run waits for this micro-batch, and nothing moves any more (lost_work_watch).
struct work_lost {
  micro_batch_id waited_for;
  /// By steady_now(). The message says nothing about an epoch that began later.
  std::chrono::nanoseconds noticed{0};
  /// Something that may be the cause, for the log (run_hosts::refused_lately).
  std::string note = {};
};
struct meet_aggregator;

using director_actor =
    caf::typed_actor<cast<open_ticket>, cast<cancel_ticket>, cast<cut_calls>, cast<stop_request>, cast<stage_ready>,
                     cast<stage_lost>, cast<edge_lost>, cast<edge_still_lost>, cast<work_lost>, cast<loading_paused>,
                     cast<failure>, cast<call_folded>, cast<call_completed>, cast<step_vote>, cast<stopped>>;

using loader_actor =
    caf::typed_actor<cast<open_ticket>, cast<low_water>, cast<cancel_call>, cast<cut_calls_below>, cast<stop_request>,
                     cast<pause_loading>, cast<start_loader_epoch>, cast<meet_aggregator>,
                     // from its engine
                     cast<call_size>, cast<loading_paused>, cast<failure>, cast<stopped>>;

/// What the director tells a stage, wherever its engine is. Edges come to the engine by its own process:
/// local_stage_actor, remote_stage_actor.
using stage_actor = caf::typed_actor<rpc<open_ticket, call_opened>, cast<release_call>, cast<cancel_call>,
                                     cast<step_decision>, cast<meet_aggregator>, cast<stop_request>>;

/// director -> aggregator, for the first loader actor and for each later one: this actor gets the low-water mark, at
/// once and whenever it rises.
struct meet_loader {
  loader_actor loader;
};

using aggregator_actor = caf::typed_actor<cast<meet_loader>, rpc<open_ticket, call_opened>, cast<score_batch>,
                                          cast<call_size>, cast<commit_call>, cast<cancel_call>>;

/// director -> loader, stages: this aggregator takes the place of one that has died.
struct meet_aggregator {
  aggregator_actor aggregator;
};

using monitor_actor = caf::typed_actor<cast<call_progress>, cast<log_record>>;

/// The failure that an actor reports to the director when the command queue of its engine is full.
template <class Engine>
failure queue_full_failure(const Engine& engine) {
  const error cause{error_code::queue_full, engine.name(), "the queue of its commands is full",
                    "submit fewer calls at a time"};
  return {engine.address(), 0, engine.name(), std::nullopt, cause, 0};
}

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::open_ticket)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::call_opened)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::call_completed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cancel_ticket)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cut_calls)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cut_calls_below)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::start_loader_epoch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::start_stage_epoch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stage_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::edge_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::edge_still_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::work_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::pause_loading)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::loading_paused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::log_record)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::meet_loader)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::meet_aggregator)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::release_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cancel_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::low_water)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stop_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stage_ready)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stopped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::call_progress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::failure)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::score_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::call_size)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::call_folded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::commit_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_vote)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_decision)
