#include <optional>
#include <string>
#include <vector>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/shm/shm_ends.hpp"
#include "runtime/edge/shm/slot_extents.hpp"
#include "runtime/edge/shm/slot_returns.hpp"

namespace troupe {
namespace shm {
namespace {

class shm_consumer final : public edge_consumer {
 public:
  shm_consumer(opened_edge edge, shm_end_options end)
      : returns_(std::make_shared<slot_returns>(std::move(edge.shared), std::move(end.peer_bell))),
        views_(std::move(edge.memory), returns_->shared().slots(), extents_at(returns_->shared().slots())),
        codec_(std::move(end.codec)),
        faults_(std::move(end.faults)),
        damage_(std::move(end.on_damaged), std::move(end.on_lost)) {
    held_.reserve(shared().slots());
  }
  ~shm_consumer() override { shm_consumer::close(); }

  [[nodiscard]] std::optional<activation> try_receive() override {
    if (closed_ || damage_.made()) return std::nullopt;
    if (received_ == sent_seen_) {
      sent_seen_ = words().sent.load(std::memory_order_acquire);
      if (received_ == sent_seen_) return std::nullopt;
    }
    message_header header = shared().header(received_).load();
    if (faults_) suffer(header, faults_->next_message());
    auto message = receive(header);
    if (!message) {
      damage_.make(message.error());
      return std::nullopt;
    }
    ++received_;
    return std::move(*message);
  }

  void release() noexcept override {
    TROUPE_CHECK(!held_.empty(), "one release per receive: a second one would grant a slot that is in use");
    auto slot = held_.begin();
    while (slot != held_.end() && returns_->is_viewed(*slot)) ++slot;
    if (slot == held_.end()) slot = held_.begin();
    const std::uint32_t released = *slot;
    held_.erase(slot);
    returns_->release(released);
  }

  // While more is known to be there, its header says what was flushed before, and the producer's line stays where it
  // is. `flushed` is read before `sent`: if nothing is left unreceived then, everything before the flush was received.
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    if (damage_.made()) return std::nullopt;
    if (received_ != sent_seen_) return call_of(shared().header(received_).flushed_before());
    const std::uint64_t newest = words().flushed.load(std::memory_order_acquire);
    const bool caught_up = words().sent.load(std::memory_order_acquire) == received_;
    return call_of(caught_up ? newest : shared().header(received_).flushed_before());
  }

  // `producer_closed` is read before `sent`, as it was written after.
  [[nodiscard]] bool exhausted() const noexcept override {
    return !damage_.made() && words().producer_closed.load(std::memory_order_acquire) != 0 &&
           words().sent.load(std::memory_order_acquire) == received_;
  }

  void close() noexcept override {
    if (std::exchange(closed_, true) || damage_.made()) return;
    words().consumer_closed.store(1, std::memory_order_release);
    returns_->ring_producer();
  }

  void abandon() noexcept override {
    closed_ = true;
    returns_->mute();
  }

 private:
  [[nodiscard]] static std::optional<call_number> call_of(std::uint64_t flushed) noexcept {
    return flushed == 0 ? std::nullopt : std::optional<call_number>(flushed - 1);
  }
  [[nodiscard]] const control_view& shared() const noexcept { return returns_->shared(); }
  [[nodiscard]] control& words() const noexcept { return shared().words(); }

  /// The slot of a header whose slot is below slots().
  [[nodiscard]] static std::uint32_t slot_of(const message_header& header) noexcept {
    return static_cast<std::uint32_t>(header.slot);
  }

  // A slot in use is its own proof that the producer did not have it to send in: with it no more messages are on the
  // edge than it has slots.
  [[nodiscard]] expected<message_layout> check(const message_header& header) const {
    if (sent_seen_ - received_ > shared().slots()) return nonsense("more was sent than there are slots");
    if (header.position != received_) return nonsense("a message out of order");
    if (header.slot >= shared().slots()) return nonsense("slot " + std::to_string(header.slot));
    if (returns_->is_held(slot_of(header))) return nonsense("a message in a slot that is in use");
    const auto parts = lay_out(header);
    if (!parts || parts->end > header.extent_bytes) return nonsense("a message larger than its slot");
    return *parts;
  }

  /// A bit of the bytes in the slot; of the header where there are no bytes, or no checksum that would miss one. A cut
  /// message is found by its header.
  void suffer(message_header& header, arrival_faults::damage what) {
    if (what == arrival_faults::damage::none) return;
    constexpr std::uint64_t some_bit = 1u << 20;
    const auto parts = check(header);
    const bool has_bytes = parts && parts->end > 0;
    if (has_bytes && what == arrival_faults::damage::cut) {
      header.extent_bytes = parts->end / 2;
    } else if (!has_bytes || header.checksum == absent || !flip_bit(header, parts->end)) {
      header.position ^= some_bit;
    }
  }

  /// Another one each time.
  [[nodiscard]] bool flip_bit(const message_header& header, std::uint64_t bytes) {
    constexpr std::uint64_t some_stride = 40503;
    const auto pages = views_.pages(slot_of(header), {header.extent_offset, header.extent_bytes});
    if (!pages) return false;
    const std::uint64_t bit = header.position * some_stride % (bytes * 8);
    (*pages)->bytes()[bit / 8] ^= std::byte{1} << (bit % 8);
    return true;
  }

  [[nodiscard]] expected<activation> receive(const message_header& header) {
    const auto parts = TROUPE_TRY(check(header));
    std::shared_ptr<const memory_mapping> pages;
    if (header.extent_bytes != 0) {
      pages = TROUPE_TRY(views_.pages(slot_of(header), {header.extent_offset, header.extent_bytes}));
    }
    const std::span<const std::byte> room = pages ? pages->bytes() : std::span<std::byte>();
    TROUPE_TRY(check_sum(header, room.first(parts.end)));
    auto message = read_head(header, room);
    if (!message) return message;
    if (auto read = read_payloads(*message, header, parts, std::move(pages)); !read) {
      return tl::make_unexpected(read.error());
    }
    return message;
  }

  [[nodiscard]] static expected<void> check_sum(const message_header& header, std::span<const std::byte> bytes) {
    if (header.checksum == absent || header.checksum == checksum_of(header, bytes)) return {};
    return fail(error_code::wire_checksum, "shared memory, " + to_string(micro_batch_id{header.call, header.index}),
                "the message does not match its checksum", "if it comes again, check the memory of this machine");
  }

  [[nodiscard]] expected<void> read_payloads(activation& message, const message_header& header,
                                             const message_layout& parts, std::shared_ptr<const memory_mapping> pages) {
    const std::span<const std::byte> room = pages ? pages->bytes() : std::span<std::byte>();
    const std::uint32_t slot = slot_of(header);
    const auto lease = std::make_shared<const slot_lease>(returns_, slot, std::move(pages));
    returns_->hold(slot, header.position);
    held_.push_back(slot);
    const auto read = [&](payload_ptr& into, std::uint64_t at, std::uint64_t bytes) -> expected<void> {
      if (bytes == absent) return {};
      into = TROUPE_TRY(codec_->read(room.subspan(at, bytes), lease));
      return {};
    };
    auto done = read(message.tensors, parts.tensors_at, header.tensors_bytes);
    if (done) done = read(message.labels, parts.labels_at, header.labels_bytes);
    if (!done) held_.pop_back();
    return done;
  }

  const std::shared_ptr<slot_returns> returns_;
  slot_views views_;
  const std::shared_ptr<const payload_codec> codec_;
  const std::shared_ptr<arrival_faults> faults_;
  damage_report damage_;
  /// Received and not released, in order of receipt.
  std::vector<std::uint32_t> held_;
  std::uint64_t received_ = 0;
  std::uint64_t sent_seen_ = 0;
  bool closed_ = false;
};

}  // namespace
}  // namespace shm

expected<std::unique_ptr<edge_consumer>> open_shm_consumer(unique_fd memory, shm_end_options end) {
  TROUPE_CHECK(end.codec != nullptr, "bytes in a slot become payloads");
  auto edge = TROUPE_TRY(shm::open_edge(std::move(memory)));
  const shm::control& words = edge.shared.words();
  if (words.released.load() != 0 || words.consumer_closed.load() != 0) {
    return shm::nonsense("the edge has had a consumer before");
  }
  return std::make_unique<shm::shm_consumer>(std::move(edge), std::move(end));
}

}  // namespace troupe
