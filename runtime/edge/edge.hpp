#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "messages/activation.hpp"
#include "runtime/edge/doorbell.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// An edge is the bounded, directed channel from one replica of a stage to one replica of the next. It has as many
/// slots as the receiver grants buffers; a free slot is a credit. The backends inproc, shm, tcp, nccl and cuda_ipc pass
/// the contract suite tests/runtime/edge/edge_contract.hpp. The simulation has a backend of its own.
///
/// Order: activations arrive in the order they were sent, each exactly once, as long as both ends live.
/// Threads: one thread uses the producer, one thread the consumer; they may be the same. Nothing blocks.
/// Ownership: a sent activation belongs to the edge until it is received, then to the consumer; its slot stays in use
/// until release(). The edge lives as long as either end.
/// Errors: none while both ends live. After close() of one end the other end's calls answer `closed`.

enum class send_status : std::uint8_t {
  sent,       ///< the edge took the activation
  no_credit,  ///< every slot is in use; the activation is unchanged; the doorbell rings when enough slots are free
  closed,     ///< the consumer is closed; the activation is unchanged
};

/// The sending end.
class edge_producer {
 public:
  edge_producer() = default;
  edge_producer(const edge_producer&) = delete;
  edge_producer& operator=(const edge_producer&) = delete;
  virtual ~edge_producer() = default;

  /// Free slots. Only the consumer's release() raises it, only try_send() lowers it. After the consumer's close it is
  /// slots(), so that a caller that asks first goes on to try_send() and gets `closed`.
  [[nodiscard]] virtual std::uint32_t credits() const noexcept = 0;
  /// credits() > 0, cheaper: it may answer without reading the other end's cache line.
  [[nodiscard]] virtual bool has_credit() noexcept { return credits() > 0; }
  [[nodiscard]] virtual std::uint32_t slots() const noexcept = 0;

  /// Moves from `message` only if it returns `sent`, and rings the consumer's doorbell.
  [[nodiscard]] virtual send_status try_send(activation& message) = 0;

  /// As try_send(), for a caller that has time: an edge with a thread of its own may do that thread's work here, which
  /// saves the time to wake it. Which bytes arrive, and in which order, is the same.
  [[nodiscard]] virtual send_status try_send_now(activation& message) { return try_send(message); }

  /// A flush behind everything sent before. It needs no credit and may be repeated; the consumer sees the greatest call
  /// only.
  virtual void send_flush(call_number call) noexcept = 0;

  /// Ends sending. Activations sent before are still delivered. Idempotent.
  virtual void close() noexcept = 0;

  /// Abandons this end without notifying the peer, like the death of its process: the other end sees silence, also when
  /// this end is destroyed. For edges replaced by a new epoch. The last call on this end; its bell may still be rung.
  virtual void abandon() noexcept = 0;
};

/// The receiving end.
class edge_consumer {
 public:
  edge_consumer() = default;
  edge_consumer(const edge_consumer&) = delete;
  edge_consumer& operator=(const edge_consumer&) = delete;
  virtual ~edge_consumer() = default;

  /// The next activation, or nothing. Its slot stays in use until release(), one release per receive, in any order.
  [[nodiscard]] virtual std::optional<activation> try_receive() = 0;

  /// Gives one received slot back: the producer gets a credit and its doorbell rings (edge_options::credits_per_ring).
  /// More releases than receives are a broken invariant. Also after close().
  virtual void release() noexcept = 0;

  /// The greatest call whose flush has arrived and whose preceding activations were all received. Empty before.
  [[nodiscard]] virtual std::optional<call_number> flushed_through() const noexcept = 0;

  /// The producer has closed and all its activations were received. Never true if close() of this end dropped some.
  [[nodiscard]] virtual bool exhausted() const noexcept = 0;

  /// Ends receiving: drops undelivered messages; later sends answer `closed`. Idempotent.
  virtual void close() noexcept = 0;

  /// Abandons this end; see edge_producer::abandon(). No slot is released any more.
  virtual void abandon() noexcept = 0;
};

/// Both ends of a new edge. Destroying an end closes it. Doorbells must outlive the edge. Exception: if one thread uses
/// both ends, or the other end's thread has been joined, a doorbell need only outlive its own end, unless that end was
/// abandoned.
struct edge_ends {
  std::unique_ptr<edge_producer> producer;
  std::unique_ptr<edge_consumer> consumer;
};

struct edge_options {
  /// Credits: how many micro-batches may be on the edge or in use by the consumer. 1 to limits::pipe_buffers_max.
  std::uint32_t slots = 2;
  /// Rung when a credit returns. Not owned.
  doorbell* producer_bell = nullptr;
  /// Rung when something arrives. Not owned.
  doorbell* consumer_bell = nullptr;
  /// 1: the producer's doorbell rings for every credit. k > 1: it rings once when k slots are free (at most `slots`),
  /// so that a producer that works in bursts, such as the loader, wakes seldom. It may also ring earlier. A producer
  /// that found no credit is always rung.
  std::uint32_t credits_per_ring = 1;
};

/// Makes the edges of a run: one factory per backend.
class edge_factory {
 public:
  edge_factory() = default;
  edge_factory(const edge_factory&) = delete;
  edge_factory& operator=(const edge_factory&) = delete;
  virtual ~edge_factory() = default;
  [[nodiscard]] virtual edge_ends make(const edge_options& options) = 0;
};

}  // namespace troupe
