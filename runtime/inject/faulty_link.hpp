#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "messages/worker.hpp"
#include "runtime/inject/faulty_transport.hpp"
#include "runtime/inject/run_start.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe {

/// Does something at a time, on another thread; soon after its end it does nothing.
using do_later = std::function<void(std::chrono::steady_clock::time_point when, std::function<void()> what)>;

/// The end of a link to a worker on its host, whose messages suffer what a fault plan says, either way, from the
/// assignment of a stage to the worker on: `of` gives the faults of the stage's control messages. `start`, where it is
/// not null, begins when the worker is told that the run has begun.
///
///   drop, duplicate, delay      of whole messages; those behind a late one are as late, as in a stream
///   reorder                     the message passes behind the next one of its direction, or after a moment
///   corrupt                     a bit of the version in its envelope: links have no checksum of their own, and a
///                               number that changed unseen would be believed
///   truncate                    the second half is missing
///   partition                   nothing passes; heartbeats do, so that the process is not ended for its silence
///   half_open, close            of the connection, heartbeats included: the other end, or this one, is lost
///
/// It stands below numbered_link, whose numbers and receipts are messages, too.
[[nodiscard]] std::shared_ptr<message_link> disturb_link(std::shared_ptr<message_link> link, do_later later,
                                                         std::function<message_triggers(const worker_assignment&)> of,
                                                         std::shared_ptr<run_start> start = nullptr);

}  // namespace troupe
