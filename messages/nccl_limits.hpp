#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "messages/wire_limits.hpp"

/// Limits of edges over NCCL. Included by limits.hpp.
namespace troupe::limits {

using namespace std::chrono_literals;

/// From the making of a communicator until both ends are in it and warm. The peer loads its model first.
inline constexpr std::chrono::milliseconds nccl_join_timeout = 150s;
/// One send or receive. The other side has its half posted as soon as its thread runs: a frozen peer is found by the
/// link of the announcements before.
inline constexpr std::chrono::milliseconds nccl_operation_timeout = 20s;
/// One attempt to end a communicator; then its thread, its communicator and the buffers in it are abandoned.
inline constexpr std::chrono::milliseconds nccl_abort_timeout = 5s;
/// Threads abandoned in such attempts by one process; more, and communicators are not ended any more.
inline constexpr std::uint32_t nccl_abandoned_max = 16;
/// Looks for what NCCL and the device have done, while something is under way: the first ones yield only.
inline constexpr std::chrono::microseconds nccl_look_interval = 50us;
/// Blocks of a device that one communicator may take: an edge is a copy, and the layers need the rest.
inline constexpr int nccl_ctas_max = 2;
/// Bytes that one message may take on the receiving device, and those that describe them; a power of two, so that a
/// size rounded up to the alignment of payloads stays within it.
inline constexpr std::uint64_t nccl_message_bytes_max = std::uint64_t{16} << 30;
inline constexpr std::size_t nccl_description_bytes_max = 256u << 10;

static_assert(nccl_operation_timeout > tcp_silence_timeout && nccl_join_timeout > tcp_attach_timeout,
              "a peer that is gone is found by its silence, and only NCCL's own faults by its deadlines");

}  // namespace troupe::limits
