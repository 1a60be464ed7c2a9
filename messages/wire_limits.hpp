#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Limits of messages, frames and sockets, checked before memory is allocated. Included by limits.hpp.
namespace troupe::limits {

using namespace std::chrono_literals;

// --- messages --------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t wire_version = 1;
inline constexpr std::size_t wire_message_bytes_max = 64u << 20;
inline constexpr std::size_t wire_string_bytes_max = 64u << 10;
inline constexpr std::size_t wire_depth_max = 16;
inline constexpr std::size_t wire_array_items_max = 1u << 20;
/// Tensors of one payload, dimensions of one tensor, bytes of its name.
inline constexpr std::size_t wire_tensors_max = 256;
inline constexpr std::size_t wire_dimensions_max = 32;
inline constexpr std::size_t wire_tensor_name_bytes_max = 255;
inline constexpr std::size_t score_words_max = 1u << 20;

// --- frames and sockets ----------------------------------------------------------------------------------------------
/// Frames of the data plane (docs/wire.md). A header has at most 11 numbers of 9 bytes; a payload is one micro-batch.
inline constexpr std::uint16_t frame_version = 4;
inline constexpr std::size_t frame_header_bytes_max = 128;
inline constexpr std::uint64_t frame_payload_bytes_max = std::uint64_t{4} << 30;
/// Bytes read from an unproven peer before its hello is complete; also the buffered part of a frame.
inline constexpr std::size_t frame_buffer_bytes = 4096;
/// Given to a socket, or read from it, with one system call: few calls, and the bytes stay in a core's caches from the
/// checksum to the kernel's copy, and back.
inline constexpr std::size_t tcp_chunk_bytes = 2u << 20;
/// Encrypted before they are sent, and read before they are decrypted: each TLS connection has buffers for as much.
inline constexpr std::size_t tls_chunk_bytes = 256u << 10;
/// The reader of a payload that lacks at least twice as much is woken after so many bytes.
inline constexpr std::size_t tcp_wake_bytes = 1u << 20;
/// So long after the latest bytes of any other payload its reader looks for more: to be woken would take as long.
inline constexpr std::chrono::microseconds tcp_read_patience = 20us;
/// Places that a chunk is gathered from.
inline constexpr std::size_t tcp_chunk_pieces_max = 64;
/// Chunks of one connection before others have their turn.
inline constexpr std::size_t tcp_chunks_per_turn = 4;
/// What a transport tells both ends of an edge: a secret, or the name of a channel of some library.
inline constexpr std::size_t edge_offer_words_max = 16;
/// Connections without a proof of the run's secret or a certificate that was used. Where there are as many, the oldest
/// is closed for a new one that has been idle for the first time and a round trip of its own, or has been there for the
/// second. One address has no more than its share, so that others find room at once, and its others wait, as
/// descriptors that are not read. Addresses that are expected have as many again for themselves.
inline constexpr std::size_t tcp_untrusted_peers_max = 128;
inline constexpr std::size_t tcp_untrusted_of_address_max = 96;
inline constexpr std::size_t tcp_waiting_peers_max = 256;
inline constexpr std::chrono::milliseconds tcp_untrusted_idle_max = 50ms;
inline constexpr std::chrono::milliseconds tcp_untrusted_time_max = 1s;
/// From the first byte of a connection to the end of its handshake; TLS needs some round trips and signatures.
inline constexpr std::chrono::milliseconds tcp_handshake_timeout = 10s;
/// Wait of an accepted edge for its peer, which loads its model first.
inline constexpr std::chrono::milliseconds tcp_attach_timeout = 120s;
/// Interval of pings of an idle end; time after which a silent peer is lost.
inline constexpr std::chrono::milliseconds tcp_keep_alive = 1s;
inline constexpr std::chrono::milliseconds tcp_silence_timeout = 10s;
/// Time for queued frames when an endpoint stops.
inline constexpr std::chrono::milliseconds tcp_stop_timeout = 5s;

}  // namespace troupe::limits
