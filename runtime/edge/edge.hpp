#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "messages/activation.hpp"
#include "messages/ids.hpp"
#include "runtime/edge/doorbell.hpp"

namespace troupe {

/// An edge is the bounded, directed channel from one replica of a stage to one replica of the next. It has as many
/// slots as the receiver grants buffers; a free slot is a credit. Backends: inproc, shm, tcp, simulated.
/// All of them pass the contract suite tests/runtime/edge/edge_contract.hpp.
///
/// Order: activations arrive in the order they were sent, each exactly once, as long as both ends live.
/// Threads: one thread uses the producer, one thread the consumer; they may be the same. Nothing blocks.
/// Ownership: a sent activation belongs to the edge until it is received, then to the consumer; its slot stays in use
/// until release(). The edge lives as long as either end.
/// Errors: there is none while both ends live; close() of one end is seen by the other as `closed`.

enum class send_status : std::uint8_t {
  sent,       ///< the edge took the activation
  no_credit,  ///< every slot is in use; the activation was left untouched; the doorbell rings when enough are released
  closed,     ///< the consumer is gone; the activation was left untouched
};

/// The sending end.
class edge_producer {
 public:
  edge_producer() = default;
  edge_producer(const edge_producer&) = delete;
  edge_producer& operator=(const edge_producer&) = delete;
  virtual ~edge_producer() = default;

  /// Slots free right now; grows only by the consumer's release, shrinks only by try_send. All of them once the
  /// consumer is gone, so that who looks here first goes on to try_send and learns `closed`.
  [[nodiscard]] virtual std::uint32_t credits() const noexcept = 0;
  /// credits() > 0, for those who need no count: it may know without asking the other end's core.
  [[nodiscard]] virtual bool has_credit() noexcept { return credits() > 0; }
  [[nodiscard]] virtual std::uint32_t slots() const noexcept = 0;

  /// Moves from `message` only if it returns `sent`, and rings the consumer's doorbell.
  [[nodiscard]] virtual send_status try_send(activation& message) = 0;

  /// A flush, after everything sent before it: takes no credit, may be repeated; the consumer sees the greatest call
  /// only.
  virtual void send_end_of_call(call_number call) noexcept = 0;

  /// No more will be sent. What was sent is still delivered. Idempotent.
  virtual void close() noexcept = 0;

  /// Ends without a word, as the death of its process would: the other end sees silence, now and when this one is
  /// destroyed. For edges that a new epoch has replaced. Last call; its bell may still be rung.
  virtual void vanish() noexcept = 0;
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

  /// The greatest call whose end_of_call has arrived, once everything sent before it was received; nothing before that.
  [[nodiscard]] virtual std::optional<call_number> ended_call() const noexcept = 0;

  /// The producer has closed and everything it sent was received (so never, if close() of this end dropped some of it).
  [[nodiscard]] virtual bool exhausted() const noexcept = 0;

  /// Nothing more will be received: undelivered messages are dropped, further sends answer `closed`. Idempotent.
  virtual void close() noexcept = 0;

  /// Ends without a word: see edge_producer::vanish(). No slot comes back any more.
  virtual void vanish() noexcept = 0;
};

/// Both ends of a new edge; destroying an end closes it. Doorbells must outlive the edge. (Where both ends are used by
/// one thread, or one is when the other's thread has been joined: a bell must only outlive its own end, unless that end
/// vanished, as it is not rung after.)
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
  /// 1: the producer's doorbell is rung for every credit. More: once, when this many slots have come free (for a
  /// producer that is cheap to run in bursts, as the loader is, and is not woken while it has nothing to send). Taken
  /// as `slots` where it is more. It may ring earlier, too; a producer that finds no credit at all is rung.
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
