#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/edge/transport.hpp"
#include "runtime/inject/connection_faults.hpp"

namespace troupe {

/// A transport whose edges suffer what a fault plan says: at their consumers, in this process. `of_channel` gives the
/// faults of a channel (position in wiring_plan::channels).
///
///   drop                the message is gone, the end is silent, and on_lost tells it, as of a connection that broke
///   duplicate, reorder, delay    above the bytes: the message comes twice, behind the next one, later
///   corrupt, truncate   below the frame decoder of tcp; in a slot of shared memory, of whose bytes one changes if they
///                       have a checksum
///   partition           nothing passes: silence, which time-outs notice
///   half_open, close    of the connection; in shared memory no message comes, no slot goes back, the end is lost
[[nodiscard]] std::shared_ptr<transport> make_faulty_transport(
    std::shared_ptr<transport> edges, std::function<message_triggers(std::size_t channel)> of_channel);

/// What stands in front of the consumer: drop, duplicate, reorder, delay and partition of `triggers`; silence and close
/// of `connection`, which may be null. `lost` is told of a drop and a close.
[[nodiscard]] std::unique_ptr<edge_consumer> disturb_arrivals(
    std::unique_ptr<edge_consumer> edge, message_triggers triggers, std::function<void(const error&)> lost,
    std::shared_ptr<const arrival_faults> connection = nullptr);

}  // namespace troupe
