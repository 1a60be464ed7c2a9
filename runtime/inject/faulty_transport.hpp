#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/edge/transport.hpp"
#include "runtime/inject/message_trigger.hpp"

namespace troupe {

using message_triggers = std::vector<std::shared_ptr<message_trigger>>;

/// A transport whose edges suffer what a fault plan says: at their consumers, in this process. `of_channel` gives the
/// faults of a channel (position in wiring_plan::channels).
///
///   drop                the message is gone, the end is silent, and on_lost tells it, as of a connection that broke
///   duplicate, reorder, delay    above the bytes: the message comes twice, behind the next one, later
///   corrupt, truncate   below the frame decoder of tcp; in the header of a slot in shared memory
///   partition           nothing passes: silence, which time-outs notice
///
/// A payload in shared memory has no checksum: a bit that changed there would stay unseen, so none is changed there.
[[nodiscard]] std::shared_ptr<transport> make_faulty_transport(
    std::shared_ptr<transport> edges, std::function<message_triggers(std::size_t channel)> of_channel);

/// What stands in front of the consumer: drop, duplicate, reorder, delay and partition of `triggers`. `lost` is told
/// of a drop.
[[nodiscard]] std::unique_ptr<edge_consumer> disturb_arrivals(std::unique_ptr<edge_consumer> edge,
                                                              message_triggers triggers,
                                                              std::function<void(const error&)> lost);

}  // namespace troupe
