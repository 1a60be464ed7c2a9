#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/edge/transport.hpp"
#include "runtime/inject/connection_faults.hpp"

namespace troupe {

/// A transport that injects the faults of a plan into its edges, at the consumers that this process opens. `of_channel`
/// gives the faults of a channel (its position in wiring_plan::channels).
///
///   drop                the message is lost, and with it the edge: its end is silent from then on, and on_lost is
///   called
///                       as if a connection had broken
///   duplicate, reorder, delay    the message arrives twice, after the next one, or later
///   corrupt, truncate   over tcp bytes of the message are changed or cut off before the frame is decoded; in shared
///   memory
///                       the same is done to the slot, where one byte is changed if the payload has a checksum
///   partition           nothing passes, and the other end notices the silence by its time-out
///   half_open, close    the connection is silent in one direction, or is closed; in shared memory the messages do not
///                       arrive or the slots are not released, or the end is lost
[[nodiscard]] std::shared_ptr<transport> make_faulty_transport(
    std::shared_ptr<transport> edges, std::function<message_triggers(std::size_t channel)> of_channel);

/// A consumer in front of `edge` that injects the faults of whole messages: drop, duplicate, reorder, delay and
/// partition from `triggers`, and silence and close from `connection`, which may be null. `lost` is called for a drop
/// and a close.
[[nodiscard]] std::unique_ptr<edge_consumer> disturb_arrivals(
    std::unique_ptr<edge_consumer> edge, message_triggers triggers, std::function<void(const error&)> lost,
    std::shared_ptr<const arrival_faults> connection = nullptr);

}  // namespace troupe
