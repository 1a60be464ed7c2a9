#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/edge/arrival_faults.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Edges between two processes of a host, in one memfd: some words of control, and a pool of slots. The sender's codec
/// writes a payload into a slot, once; the receiver's payloads view the slot in place. A slot takes memory when it is
/// first used and gets more when a message needs more; once it is large enough, a message costs neither memory nor a
/// system call (but to wake a parked neighbour).
///
/// Beyond edge.hpp:
/// - What a sent activation held is dropped by try_send, as its bytes are in the slot.
/// - A slot comes back to the producer when it was released *and* the last payload that views it is gone, whichever is
///   later; that may be in any thread, after the consumer's end is gone too. release() gives back a received slot that
///   nothing views, if there is one, else the one received first.
/// - try_send throws std::runtime_error, and leaves message and edge as they were, where the system has no memory, or
///   the message is beyond limits::shm_slot_bytes_max; whatever the codec throws leaves it likewise. More credit would
///   not help, so it is no `no_credit`.
/// - An end takes what it reads as untrusted. If it finds nonsense there, it tells on_damaged, once, and is silent
///   from then on: a consumer receives nothing, has no flushed_through() and is never exhausted; a producer answers
///   `closed`. What was received before stays valid (but bytes in a slot may be changed by a damaged peer at any time).
/// - Where the producer's end has checksums, what changes in a message between its write and its receipt is found
///   (E0706): the end tells on_lost, as an edge is lost and no peer is to blame, and is silent as above.
/// - The death of a peer at any instant is silence: of what it was about to send, all is received or nothing. There are
///   no locks.
struct shm_edge_options {
  /// As edge_options.
  std::uint32_t slots = 2;
  std::uint32_t credits_per_ring = 1;
};

/// What one end of an edge needs beside the memory.
struct shm_end_options {
  /// The other end's bell, kept alive by this end and by views of its slots; null: no bell to ring.
  std::shared_ptr<doorbell> peer_bell;
  /// Not null.
  std::shared_ptr<const payload_codec> codec;
  /// Called at most once, in the end's thread, from try_send or try_receive. May be empty. Codes: E0701, E0702 for what
  /// the peer wrote; E0614 where the system gives no addresses for a slot.
  std::function<void(const error&)> on_damaged;
  /// For a consumer: faults of what arrives; null without a fault plan.
  std::shared_ptr<arrival_faults> faults = nullptr;
  /// For a producer: a checksum over all that it writes, header included.
  bool checksums = false;
  /// For a consumer: called as on_damaged, once at most, with E0706. Empty: on_damaged is called.
  std::function<void(const error&)> on_lost = {};
  /// For a producer, may be empty: told in try_send which slot a message goes to, after its last message has come back
  /// and before the codec is asked. What it throws leaves message and edge as they were.
  std::function<void(std::uint32_t slot)> on_slot = {};
};

/// The memory of a new edge; either end gets a descriptor, for good: an edge is opened once on each side. Errors:
/// E0614.
[[nodiscard]] expected<unique_fd> create_shm_edge(const shm_edge_options& options);

/// Errors: E0614; E0702, E0703 for memory that is none of an unused edge.
[[nodiscard]] expected<std::unique_ptr<edge_producer>> open_shm_producer(unique_fd memory, shm_end_options end);
[[nodiscard]] expected<std::unique_ptr<edge_consumer>> open_shm_consumer(unique_fd memory, shm_end_options end);

/// Both ends in one process. Bells must also outlive the last view of a slot, unless the producer has closed. Throws
/// std::runtime_error where the system refuses.
class shm_edge_factory final : public edge_factory {
 public:
  explicit shm_edge_factory(std::shared_ptr<const payload_codec> codec);
  [[nodiscard]] edge_ends make(const edge_options& options) override;

 private:
  const std::shared_ptr<const payload_codec> codec_;
};

}  // namespace troupe
