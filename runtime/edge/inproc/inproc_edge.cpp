#include "runtime/edge/inproc/inproc_edge.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

inline constexpr std::size_t cache_line_bytes = 64;

/// A flush travels as call + 1, so that 0 says "none yet" and the greatest wins.
using flush_word = std::uint64_t;

struct alignas(cache_line_bytes) slot {
  activation message;
  /// The greatest flush sent before this message: with it the consumer knows what has ended although more was sent
  /// since.
  flush_word flushed_before = 0;
};

/// Written by the side it is named after; the other side only reads. Counts grow for ever and never wrap (64 bits).
/// Invariant: released <= received <= sent <= released + slots. The slot at `sent` is therefore empty and the
/// producer's whenever it has a credit, and the slots from `received` to `sent` are the consumer's.
struct channel {
  explicit channel(const edge_options& given) : options(given), ring(given.slots) {}

  const edge_options options;
  std::vector<slot> ring;

  alignas(cache_line_bytes) std::atomic<std::uint64_t> sent{0};
  std::atomic<flush_word> flushed{0};
  alignas(cache_line_bytes) std::atomic<std::uint64_t> released{0};
  // On lines of their own, as they are read for every message and written once.
  alignas(cache_line_bytes) std::atomic<bool> producer_closed{false};
  alignas(cache_line_bytes) std::atomic<bool> consumer_closed{false};

  void ring_producer() noexcept {
    if (options.producer_bell != nullptr && !producer_closed.load(std::memory_order_acquire))
      options.producer_bell->ring();
  }
  void ring_consumer() noexcept {
    if (options.consumer_bell != nullptr && !consumer_closed.load(std::memory_order_acquire))
      options.consumer_bell->ring();
  }
};

/// Where a count is in the ring, without a division.
class ring_position {
 public:
  [[nodiscard]] std::size_t get() const noexcept { return position_; }
  void advance(std::size_t slots) noexcept { position_ = position_ + 1 == slots ? 0 : position_ + 1; }

 private:
  std::size_t position_ = 0;
};

class inproc_producer final : public edge_producer {
 public:
  /// `most`: that may be on the edge.
  inproc_producer(std::shared_ptr<channel> shared, std::uint64_t most) : channel_(std::move(shared)), most_(most) {}
  ~inproc_producer() override { inproc_producer::close(); }

  [[nodiscard]] std::uint32_t slots() const noexcept override { return channel_->options.slots; }

  [[nodiscard]] std::uint32_t credits() const noexcept override {
    if (channel_->consumer_closed.load(std::memory_order_acquire)) return slots();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots(), most_ - (sent_ - released_now())));
  }

  [[nodiscard]] bool has_credit() noexcept override {
    return has_free_slot() || channel_->consumer_closed.load(std::memory_order_acquire);
  }

  [[nodiscard]] send_status try_send(activation& message) override {
    TROUPE_CHECK(!closed_, "nothing is sent after close(): the consumer may already have found the edge exhausted");
    if (channel_->consumer_closed.load(std::memory_order_acquire)) return send_status::closed;
    if (!has_free_slot()) return send_status::no_credit;
    slot& place = channel_->ring[position_.get()];
    place.message = std::move(message);
    place.flushed_before = flushed_;
    position_.advance(channel_->ring.size());
    channel_->sent.store(++sent_, std::memory_order_release);
    channel_->ring_consumer();
    return send_status::sent;
  }

  // Released after `sent`: a consumer that sees the flush sees everything sent before it.
  void send_flush(call_number call) noexcept override {
    if (closed_ || channel_->consumer_closed.load(std::memory_order_acquire)) return;
    flushed_ = std::max(flushed_, flush_word{call + 1});
    channel_->flushed.store(flushed_, std::memory_order_release);
    channel_->ring_consumer();
  }

  void abandon() noexcept override { closed_ = true; }

  void close() noexcept override {
    if (std::exchange(closed_, true)) return;
    channel_->producer_closed.store(true, std::memory_order_release);
    channel_->ring_consumer();
  }

 private:
  // The consumer's line is read only when the credits known so far are used up.
  [[nodiscard]] bool has_free_slot() noexcept {
    if (sent_ - released_seen_ < most_) return true;
    released_seen_ = released_now();
    return sent_ - released_seen_ < most_;
  }

  // Several credits per ring. The consumer counts free slots after a release as slots - (sent - released) and rings at
  // exactly k, so that the end of a call does not wake the loader per release.
  //
  //   look for credit (producer)               release (consumer)
  //   L1  nothing free by `released`           F1  released += 1       (seq_cst)
  //   L2  sent := sent, as it is (seq_cst)     F2  read sent           (seq_cst)
  //   L3  read released again    (seq_cst)     F3  free = k: ring
  //
  // Claim: a producer whose last look found no credit is rung when k slots are free. While it waits it sends nothing,
  // and L3 saw `slots` messages in use. For each release that L3 did not see, L2 < L3 < F1 < F2, so F2 reads L2's
  // `sent`. These releases count 1, 2, 3, ... free slots, and the k-th rings after F1; the proof of doorbell.cpp covers
  // the rest. Without L2 the consumer could read an older `sent` and skip k.
  [[nodiscard]] std::uint64_t released_now() const noexcept {
    const std::uint64_t released = channel_->released.load(std::memory_order_acquire);
    if (channel_->options.credits_per_ring == 1 || sent_ - released != channel_->ring.size()) return released;
    channel_->sent.store(sent_, std::memory_order_seq_cst);
    return channel_->released.load(std::memory_order_seq_cst);
  }

  const std::shared_ptr<channel> channel_;
  const std::uint64_t most_;
  std::uint64_t sent_ = 0;
  std::uint64_t released_seen_ = 0;
  ring_position position_;
  flush_word flushed_ = 0;
  bool closed_ = false;
};

class inproc_consumer final : public edge_consumer {
 public:
  explicit inproc_consumer(std::shared_ptr<channel> shared)
      : channel_(std::move(shared)), ring_at_(std::min(channel_->options.credits_per_ring, channel_->options.slots)) {}
  ~inproc_consumer() override { inproc_consumer::close(); }

  [[nodiscard]] std::optional<activation> try_receive() override {
    if (closed_ || !has_message()) return std::nullopt;
    std::optional<activation> message(std::move(channel_->ring[position_.get()].message));
    position_.advance(channel_->ring.size());
    ++received_;
    return message;
  }

  void release() noexcept override {
    TROUPE_CHECK(released_ < received_, "one release per receive: a second one would grant a slot that is in use");
    if (ring_at_ == 1) {
      channel_->released.store(++released_, std::memory_order_release);
      return channel_->ring_producer();
    }
    channel_->released.store(++released_, std::memory_order_seq_cst);
    if (free_slots_seen() == ring_at_) channel_->ring_producer();
  }

  // `flushed` is read before `sent`: if nothing is left unreceived then, everything before the flush was received.
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    const flush_word newest = channel_->flushed.load(std::memory_order_acquire);
    const bool caught_up = channel_->sent.load(std::memory_order_acquire) == received_;
    const flush_word ended = caught_up ? newest : channel_->ring[position_.get()].flushed_before;
    return ended == 0 ? std::nullopt : std::optional<call_number>(ended - 1);
  }

  // `producer_closed` is read before `sent`, as it was written after.
  [[nodiscard]] bool exhausted() const noexcept override {
    return channel_->producer_closed.load(std::memory_order_acquire) &&
           channel_->sent.load(std::memory_order_acquire) == received_;
  }

  void abandon() noexcept override { closed_ = true; }

  void close() noexcept override {
    if (std::exchange(closed_, true)) return;
    channel_->consumer_closed.store(true, std::memory_order_release);
    drop_undelivered();
    channel_->ring_producer();
  }

 private:
  [[nodiscard]] bool has_message() noexcept {
    if (received_ != sent_seen_) return true;
    sent_seen_ = channel_->sent.load(std::memory_order_acquire);
    return received_ != sent_seen_;
  }

  // Right while the producer waits for credit (proof above). Else it may be too great, where `sent` is not seen yet,
  // or too small, where more was sent since the release.
  [[nodiscard]] std::uint64_t free_slots_seen() const noexcept {
    return channel_->ring.size() - (channel_->sent.load(std::memory_order_seq_cst) - released_);
  }

  // Counts stay as they are: what was dropped was not received.
  void drop_undelivered() noexcept {
    ring_position at = position_;
    const std::uint64_t sent = channel_->sent.load(std::memory_order_acquire);
    for (std::uint64_t i = received_; i != sent; ++i, at.advance(channel_->ring.size())) {
      channel_->ring[at.get()].message = activation{};
    }
  }

  const std::shared_ptr<channel> channel_;
  const std::uint64_t ring_at_;
  std::uint64_t received_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t sent_seen_ = 0;
  ring_position position_;
  bool closed_ = false;
};

}  // namespace

edge_ends inproc_edge_factory::make(const edge_options& options) {
  TROUPE_CHECK(options.slots >= 1 && options.slots <= limits::pipe_buffers_max,
               "an edge has 1 to pipe_buffers_max slots");
  TROUPE_CHECK(options.credits_per_ring >= 1, "a producer must be rung at some number of free slots");
  auto shared = std::make_shared<channel>(options);
  const std::uint64_t most =
      check_ == credit_check::by_slots ? options.slots : std::numeric_limits<std::uint64_t>::max();
  return {std::make_unique<inproc_producer>(shared, most), std::make_unique<inproc_consumer>(shared)};
}

}  // namespace troupe
