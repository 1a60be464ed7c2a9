#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "messages/nccl_limits.hpp"

/// Limits of edges over memory of devices that processes share. Included by limits.hpp.
namespace troupe::limits {

using namespace std::chrono_literals;

/// The device's pages: shared device memory is a multiple of this.
inline constexpr std::uint64_t ipc_block_unit = 2u << 20;
/// All slots of one edge.
inline constexpr std::uint64_t ipc_ring_bytes_max = 4 * nccl_message_bytes_max;
/// Allocations of a stage's own tensors that the consumer of an edge has open. Messages in further ones are copied.
inline constexpr std::size_t ipc_lent_allocations_max = 16;
/// Those of them that one message takes more than half of: no newer one finds room there.
inline constexpr std::ptrdiff_t ipc_full_allocations_max = 4;
/// Outputs of one stage for which memory is reserved, where each would have an allocation of its own: in flight, on
/// their way, and at the next stage.
inline constexpr std::int64_t ipc_reserved_outputs = 8;
/// From the announcement of a message until the device of its producer has written it.
inline constexpr std::chrono::milliseconds ipc_arrival_timeout = 20s;
/// The slots of a producer that is gone stay while a consumer still has some, but no longer than this: a consumer of
/// the run has left an abandoned edge by then, and a dead one has none.
inline constexpr std::chrono::milliseconds ipc_linger_timeout = 10s;
/// Work of the device that still touches memory of an edge is waited for when its transport ends.
inline constexpr std::chrono::milliseconds ipc_stop_timeout = 2s;
/// Looks for what the device has done, and for slots that a producer has left behind.
inline constexpr std::chrono::microseconds ipc_look_interval = 50us;
inline constexpr std::chrono::milliseconds ipc_linger_look_interval = 20ms;

}  // namespace troupe::limits
