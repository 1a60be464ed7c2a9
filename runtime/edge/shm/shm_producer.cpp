#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/shm/shm_ends.hpp"
#include "runtime/edge/shm/slot_extents.hpp"

namespace troupe {
namespace shm {
namespace {

class shm_producer final : public edge_producer {
 public:
  shm_producer(opened_edge edge, shm_end_options end)
      : shared_(std::move(edge.shared)),
        extents_(std::move(edge.memory), shared_.slots(), extents_at(shared_.slots())),
        bell_(std::move(end.peer_bell)),
        codec_(std::move(end.codec)),
        damage_(std::move(end.on_damaged)),
        has_checksums_(end.checksums),
        on_slot_(std::move(end.on_slot)),
        uses_(shared_.slots(), 0) {}
  ~shm_producer() override { shm_producer::close(); }

  [[nodiscard]] std::uint32_t slots() const noexcept override { return shared_.slots(); }

  // More in use than there are slots is nonsense; try_send is where that is told.
  [[nodiscard]] std::uint32_t credits() const noexcept override {
    if (consumer_is_gone()) return slots();
    const std::uint64_t in_use = sent_ - released_now();
    return in_use > slots() ? slots() : static_cast<std::uint32_t>(slots() - in_use);
  }

  // The consumer's cache line is not read while known credits are left.
  [[nodiscard]] bool has_credit() noexcept override { return sent_ - released_seen_ != slots() || credits() > 0; }

  [[nodiscard]] send_status try_send(activation& message) override {
    TROUPE_CHECK(!closed_, "nothing is sent after close(): the consumer may already have found the edge exhausted");
    if (consumer_is_gone()) return send_status::closed;
    const std::optional<std::uint32_t> slot = free_slot();
    if (!slot) return damage_.made() ? send_status::closed : send_status::no_credit;
    if (on_slot_) on_slot_(*slot);
    shared_.header(sent_).store(write(message, *slot));
    uses_[*slot] = ++sent_;
    next_slot_ = *slot + 1 == slots() ? 0 : *slot + 1;
    // This write is the sending: a producer that dies before it has sent nothing.
    words().sent.store(sent_, std::memory_order_release);
    ring_consumer();
    message = activation{};
    return send_status::sent;
  }

  // Released after `sent`: a consumer that sees the flush sees everything sent before it.
  void send_flush(call_number call) noexcept override {
    if (closed_ || consumer_is_gone()) return;
    flushed_ = std::max(flushed_, std::uint64_t{call + 1});
    words().flushed.store(flushed_, std::memory_order_release);
    ring_consumer();
  }

  void close() noexcept override {
    if (std::exchange(closed_, true) || damage_.made()) return;
    words().producer_closed.store(1, std::memory_order_release);
    ring_consumer();
  }

  void abandon() noexcept override { closed_ = true; }

 private:
  [[nodiscard]] control& words() const noexcept { return shared_.words(); }

  [[nodiscard]] bool consumer_is_gone() const noexcept {
    return damage_.made() || words().consumer_closed.load(std::memory_order_acquire) != 0;
  }

  void ring_consumer() noexcept {
    if (bell_ != nullptr && words().consumer_closed.load(std::memory_order_acquire) == 0) bell_->ring();
  }

  // Where one count of free slots rings, `sent` is published once more before a look that finds none: a thread that
  // frees slots after it counts from there, and does not miss the count (proof: inproc_edge.cpp).
  [[nodiscard]] std::uint64_t released_now() const noexcept {
    const std::uint64_t released = words().released.load(std::memory_order_acquire);
    if (shared_.credits_per_ring() == 1 || sent_ - released != slots()) return released;
    words().sent.store(sent_, std::memory_order_seq_cst);
    return words().released.load(std::memory_order_seq_cst);
  }

  // Slots mostly come back in the order of use. The consumer's line is read only when the known credits are used up.
  [[nodiscard]] std::optional<std::uint32_t> free_slot() {
    if (sent_ - released_seen_ == slots()) {
      const std::uint64_t released = released_now();
      if (released - released_seen_ > slots()) return found_nonsense("more slots came back than were sent");
      released_seen_ = released;
      if (sent_ - released_seen_ == slots()) return std::nullopt;
    }
    for (std::uint32_t tried = 0, slot = next_slot_; tried < slots();
         ++tried, slot = slot + 1 == slots() ? 0 : slot + 1) {
      if (shared_.freed(slot).load(std::memory_order_acquire) == uses_[slot]) return slot;
    }
    return found_nonsense("a slot came back, but it is none of those in use");
  }

  [[nodiscard]] std::nullopt_t found_nonsense(const char* what) {
    damage_.make(nonsense(what).value());
    return std::nullopt;
  }

  [[nodiscard]] message_header write(const activation& message, std::uint32_t slot) {
    message_header header = header_of(message, *codec_);
    header.position = sent_;
    header.flushed_before = flushed_;
    header.slot = slot;
    const std::optional<message_layout> parts = lay_out(header);
    if (!parts) {
      throw std::runtime_error(to_string(message.id) + ": the message is larger than the " +
                               std::to_string(limits::shm_slot_bytes_max) + " bytes of a shared-memory slot");
    }
    std::span<std::byte> room;
    if (parts->end != 0 || message.tensors || message.labels) {
      room = extents_.reserve(slot, parts->end);
      header.extent_offset = extents_.where(slot).offset;
      header.extent_bytes = extents_.where(slot).bytes;
      write_parts(message, header, *parts, *codec_, room);
    }
    if (has_checksums_) header.checksum = checksum_of(header, room);
    return header;
  }

  const control_view shared_;
  slot_extents extents_;
  const std::shared_ptr<doorbell> bell_;
  const std::shared_ptr<const payload_codec> codec_;
  damage_report damage_;
  const bool has_checksums_;
  const std::function<void(std::uint32_t slot)> on_slot_;
  /// 1 + position of the message last sent in a slot: it is free when the consumer's word for it says the same.
  std::vector<std::uint64_t> uses_;
  std::uint64_t sent_ = 0;
  std::uint64_t released_seen_ = 0;
  std::uint64_t flushed_ = 0;
  std::uint32_t next_slot_ = 0;
  bool closed_ = false;
};

}  // namespace
}  // namespace shm

expected<std::unique_ptr<edge_producer>> open_shm_producer(unique_fd memory, shm_end_options end) {
  TROUPE_CHECK(end.codec != nullptr, "payloads become bytes in a slot");
  auto edge = TROUPE_TRY(shm::open_edge(std::move(memory)));
  const shm::control& words = edge.shared.words();
  if (words.sent.load() != 0 || words.flushed.load() != 0 || words.producer_closed.load() != 0) {
    return shm::nonsense("the edge has had a producer before");
  }
  return std::make_unique<shm::shm_producer>(std::move(edge), std::move(end));
}

}  // namespace troupe
