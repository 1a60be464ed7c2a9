#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "messages/try.hpp"
#include "runtime/edge/cuda_ipc/ipc_ends.hpp"
#include "runtime/edge/cuda_ipc/slot_ring.hpp"

namespace troupe::ipc {
namespace {

class producer_end final : public edge_producer {
 public:
  producer_end(std::unique_ptr<edge_producer> announcing, const std::shared_ptr<slot_choice>& choice,
               std::shared_ptr<slot_ring> ring, end_parts parts)
      : announcing_(std::move(announcing)), ring_(std::move(ring)), parts_(std::move(parts)) {
    choice->told = [this](std::uint32_t slot) { take_slot(slot); };
  }
  ~producer_end() override {
    producer_end::close();
    leave_slots();
  }

  [[nodiscard]] std::uint32_t slots() const noexcept override { return announcing_->slots(); }
  [[nodiscard]] std::uint32_t credits() const noexcept override { return announcing_->credits(); }
  [[nodiscard]] bool has_credit() noexcept override {
    ring_->drop_copied();
    return announcing_->has_credit();
  }

  [[nodiscard]] send_status try_send(activation& message) override {
    ring_->drop_copied();
    if (!message.tensors) return announcing_->try_send(message);
    // Before anything is split; a consumer that is closed is found by try_send.
    if (!announcing_->has_credit()) return send_status::no_credit;
    outgoing next = split(message.tensors);
    activation sent = message;
    sent.tensors = next.said;
    next_ = &next;
    const send_status status = announce(sent);
    if (status != send_status::sent) return status;
    ring_->was_sent(next.said->where);
    message = activation{};
    return send_status::sent;
  }

  void send_flush(call_number call) noexcept override {
    announcing_->send_flush(call);
    flushed_ = std::max(flushed_, std::uint64_t{call} + 1);
  }
  void close() noexcept override {
    if (!std::exchange(has_ended_, true)) announcing_->close();
  }
  void abandon() noexcept override {
    has_ended_ = true;
    announcing_->abandon();
  }

 private:
  struct outgoing {
    device_parts parts;
    std::uint64_t room = 0;
    std::shared_ptr<announcement> said;
  };

  [[nodiscard]] outgoing split(const payload_ptr& tensors) const {
    parts_.tools->codec->check(*tensors);
    outgoing made{.parts = parts_.tools->codec->split(tensors), .room = 0, .said = nullptr};
    const auto room = nccl::room_of(made.parts.extents);
    if (!room) throw std::runtime_error(to_string(room.error()));
    made.room = *room;
    made.said = std::make_shared<announcement>(
        std::make_shared<const nccl::announcement>(0, made.parts.description, made.parts.extents));
    return made;
  }

  [[nodiscard]] send_status announce(activation& sent) {
    try {
      const send_status status = announcing_->try_send(sent);
      next_ = nullptr;
      return status;
    } catch (...) {
      next_ = nullptr;
      throw;
    }
  }

  /// In the announcing edge's try_send: before the announcement is written.
  void take_slot(std::uint32_t slot) {
    ring_->came_back(slot);
    if (next_ == nullptr) return;
    next_->said->where = ring_->fill(slot, next_->parts, next_->room);
    next_->said->where.flushed_before = flushed_;
  }

  // The consumer reads messages on their way when this end is gone.
  void leave_slots() {
    if (ring_->is_empty()) return;
    parts_.poller->add([ring = ring_] { return ring->is_quiet(); }, event_poller::pace::device);
    const auto limit = std::chrono::steady_clock::now() + parts_.tools->linger_timeout;
    parts_.poller->add(
        [ring = std::move(ring_), announcing = std::shared_ptr<edge_producer>(std::move(announcing_)), limit] {
          return announcing->credits() == announcing->slots() || std::chrono::steady_clock::now() >= limit;
        },
        event_poller::pace::peer);
  }

  std::unique_ptr<edge_producer> announcing_;
  std::shared_ptr<slot_ring> ring_;
  const end_parts parts_;
  /// What try_send is about.
  outgoing* next_ = nullptr;
  std::uint64_t flushed_ = 0;
  bool has_ended_ = false;
};

}  // namespace

expected<std::unique_ptr<edge_producer>> make_producer_end(std::unique_ptr<edge_producer> announcing,
                                                           const std::shared_ptr<slot_choice>& choice,
                                                           end_parts parts) {
  auto ring = TROUPE_TRY(slot_ring::make(parts.tools, announcing->slots()));
  return std::make_unique<producer_end>(std::move(announcing), choice, std::move(ring), std::move(parts));
}

}  // namespace troupe::ipc
