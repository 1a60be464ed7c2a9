#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/inject/faulty_transport.hpp"
#include "runtime/link/message_link.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// Does something at a time, on another thread; soon after its end it does nothing.
using do_later = std::function<void(std::chrono::steady_clock::time_point when, std::function<void()> what)>;

/// The driver's end of a link to a worker, whose messages suffer what a fault plan says, either way, from the
/// assignment of a stage to the worker on: `of_stage` gives the faults of the stage's control messages.
///
///   drop, duplicate, delay      of whole messages; those behind a late one are as late, as in a stream
///   reorder                     the message passes behind the next one of its direction, or after a moment
///   corrupt                     a bit of the version in its envelope: links have no checksum of their own, and a
///                               number that changed unseen would be believed
///   truncate                    the second half is missing
///   partition                   nothing passes; heartbeats do, so that the process is not ended for its silence
///   half_open, close            of the connection, heartbeats included: the other end, or this one, is lost
[[nodiscard]] std::shared_ptr<message_link> disturb_link(std::shared_ptr<message_link> link, do_later later,
                                                         std::function<message_triggers(stage_address)> of_stage);

}  // namespace troupe
