#pragma once

#include <memory>

#include "actors/caf.hpp"
#include "actors/call_ticket.hpp"
#include "messages/call_size.hpp"
#include "messages/failure.hpp"
#include "messages/lifecycle.hpp"
#include "messages/score_batch.hpp"
#include "messages/worker.hpp"
#include "runtime/flow/loader_engine.hpp"
#include <troupe/log_record.hpp>

/// Who says what to whom (docs/messages.md has the table). Inside one process messages are handed over as they are;
/// between processes they travel as the bytes of messages/codec, hence "unsafe" for CAF's own serializer.
namespace troupe {

/// open_call and what goes beside it as handles.
struct open_ticket {
  call_ticket_ptr ticket;
};
/// aggregator -> director: complete, cancelled, or failed in a fold.
struct call_completed {
  call_tally tally;
};
/// the program -> director: cancel the call of this ticket, if it is still open.
struct cancel_ticket {
  call_ticket_ptr ticket;
  error cause;
};
/// the program -> director: end all calls that are there after what has been sent of them.
struct cut_calls {};
/// director -> loader: the same, of the calls below this one.
struct cut_calls_below {
  call_number number = 0;
};
/// director -> loader, after loading_paused: go on over these edges.
struct start_loader_epoch {
  std::shared_ptr<engine_wiring> edges;
};
/// stage_provider -> a stage of this process: stage_command::start_epoch.
struct start_stage_epoch {
  std::shared_ptr<engine_wiring> edges;
  micro_batch_id from;
};
/// director -> itself: enough time has passed since the news.
struct edge_still_lost {
  edge_lost news;
};
/// pipeline -> director: this one is waited for, and nothing moves any more (lost_work_watch).
struct work_lost {
  micro_batch_id waited_for;
  /// By steady_now(): what was wired after it is not meant.
  std::chrono::nanoseconds noticed{0};
  /// What may have to do with it (run_hosts::refused_lately).
  std::string note = {};
};
struct meet_aggregator;

using director_actor =
    caf::typed_actor<cast<open_ticket>, cast<cancel_ticket>, cast<cut_calls>, cast<stop_request>, cast<stage_ready>,
                     cast<stage_lost>, cast<edge_lost>, cast<edge_still_lost>, cast<work_lost>, cast<loading_paused>,
                     cast<failure>, cast<call_completed>, cast<stopped>>;

using loader_actor =
    caf::typed_actor<cast<open_ticket>, cast<low_water>, cast<cancel_call>, cast<cut_calls_below>, cast<stop_request>,
                     cast<pause_loading>, cast<start_loader_epoch>, cast<meet_aggregator>,
                     // from its engine
                     cast<call_size>, cast<loading_paused>, cast<failure>, cast<stopped>>;

/// What the director tells a stage, wherever its engine is. Edges come to the engine by its own process:
/// local_stage_actor, remote_stage_actor.
using stage_actor = caf::typed_actor<rpc<open_ticket, call_opened>, cast<release_call>, cast<cancel_call>,
                                     cast<meet_aggregator>, cast<stop_request>>;

/// director -> aggregator, before the first call and when there is a new one: who wants to know the low-water mark, and
/// is told at once.
struct meet_loader {
  loader_actor loader;
};

using aggregator_actor = caf::typed_actor<cast<meet_loader>, rpc<open_ticket, call_opened>, cast<score_batch>,
                                          cast<call_size>, cast<cancel_call>>;

/// director -> loader, stages: the one before it has died.
struct meet_aggregator {
  aggregator_actor aggregator;
};

using monitor_actor = caf::typed_actor<cast<call_progress>, cast<log_record>>;

/// What an actor tells the director when its engine takes no more commands.
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
