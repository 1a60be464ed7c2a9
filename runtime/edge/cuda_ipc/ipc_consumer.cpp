#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "messages/check.hpp"
#include "runtime/edge/cuda_ipc/ipc_ends.hpp"
#include "runtime/edge/cuda_ipc/ipc_returns.hpp"
#include "runtime/edge/cuda_ipc/opened_ring.hpp"

namespace troupe::ipc {
namespace {

class consumer_end final : public edge_consumer {
 public:
  consumer_end(std::unique_ptr<edge_consumer> announcing, std::uint32_t slots, doorbell* bell, end_parts parts)
      : announcing_(std::move(announcing)),
        parts_(std::move(parts)),
        bell_(std::make_shared<own_bell>(bell)),
        ring_(parts_.tools, slots) {}
  ~consumer_end() override {
    consumer_end::close();
    bell_->detach();
  }

  [[nodiscard]] std::optional<activation> try_receive() override {
    if (has_ended_ || parts_.news->is_bad()) return std::nullopt;
    if (!next_) {
      auto message = announcing_->try_receive();
      if (!message) return std::nullopt;
      if (!message->tensors) return hand_on(std::move(*message));
      if (auto taken = take(std::move(*message)); !taken) return give_up(taken.error());
    }
    const auto has_come = has_arrived();
    if (!has_come) return give_up(has_come.error());
    if (!*has_come) return std::nullopt;
    arrival come = std::move(*std::exchange(next_, std::nullopt));
    behind_flush_.reset();
    const nccl::announcement& said = *come.said->tensors;
    auto tensors = parts_.tools->codec->join(said.description, said.extents, come.places, std::move(come.owner));
    if (!tensors) return give_up(tensors.error());
    come.message.tensors = std::move(*tensors);
    return hand_on(std::move(come.message));
  }

  void release() noexcept override {
    TROUPE_CHECK(handed_on_ > 0, "one release per receive: a second one would grant a slot that is in use");
    --handed_on_;
    announcing_->release();
  }

  // What has been announced and not handed on is unreceived: its announcement has the flush before it.
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    if (parts_.news->is_bad()) return std::nullopt;
    if (!behind_flush_) return announcing_->flushed_through();
    return *behind_flush_ == 0 ? std::nullopt : std::optional(static_cast<call_number>(*behind_flush_ - 1));
  }
  [[nodiscard]] bool exhausted() const noexcept override {
    return !behind_flush_ && !parts_.news->is_bad() && announcing_->exhausted();
  }

  void close() noexcept override {
    if (std::exchange(has_ended_, true)) return;
    bell_->detach();
    announcing_->close();
    next_.reset();
  }
  void abandon() noexcept override {
    has_ended_ = true;
    announcing_->abandon();
    next_.reset();
  }

 private:
  /// Announced; its event has not been seen to pass.
  struct arrival {
    activation message;
    std::shared_ptr<const announcement> said;
    std::vector<std::byte*> places;
    std::shared_ptr<const void> owner;
    /// Null: it was finished when it was sent.
    std::shared_ptr<context_event> filled;
    std::chrono::steady_clock::time_point limit;
    bool is_watched = false;
  };

  [[nodiscard]] std::optional<activation> hand_on(activation message) {
    ++handed_on_;
    return message;
  }

  [[nodiscard]] expected<void> take(activation message) {
    const std::string name = to_string(message.id);
    auto said = std::dynamic_pointer_cast<const announcement>(std::exchange(message.tensors, nullptr));
    const bool has_labels = dynamic_cast<const announcement*>(message.labels.get()) == nullptr;
    if (said == nullptr || !has_labels) {
      return fail(error_code::wire_malformed, "cuda_ipc edge",
                  name + " comes with " + (has_labels ? "its tensors" : "labels that are none"),
                  "Check the peer: it is damaged, or another version of Troupe");
    }
    auto view = ring_.open(*said);
    if (!view) {
      view.error().cause = name + ": " + view.error().cause;
      return tl::make_unexpected(std::move(view).error());
    }
    behind_flush_ = said->where.flushed_before;
    // The announcing edge is in shared memory: that is what its codec is given.
    auto announced = std::static_pointer_cast<const shm::slot_lease>(said->owner);
    auto owner =
        std::make_shared<const reading>(parts_.tools, parts_.poller, std::move(announced), std::move(view->memory));
    next_.emplace(arrival{.message = std::move(message),
                          .said = std::move(said),
                          .places = std::move(view->places),
                          .owner = std::move(owner),
                          .filled = std::move(view->filled),
                          .limit = std::chrono::steady_clock::now() + parts_.tools->arrival_timeout});
    return {};
  }

  // Edges hand on finished tensors (decision 0014), and no stream may wait for another process's event: that process
  // may die before it passes. The engine looks; when it sleeps, the poller rings.
  [[nodiscard]] expected<bool> has_arrived() {
    if (next_->filled == nullptr) return true;
    auto passed = next_->filled->has_passed();
    if (!passed || *passed) return passed;
    if (std::chrono::steady_clock::now() >= next_->limit) {
      return fail(error_code::peer_lost, "cuda_ipc edge",
                  to_string(next_->message.id) + " has not arrived within " +
                      std::to_string(parts_.tools->arrival_timeout.count()) + " ms",
                  "Check the device of the stage before this one");
    }
    if (!std::exchange(next_->is_watched, true)) ring_when_passed(*parts_.poller, next_->filled, bell_);
    return false;
  }

  /// What the peer has said wrongly is damage; what it or the device has not done is a loss.
  std::nullopt_t give_up(const error& why) {
    const bool is_damage = why.code == error_code::wire_malformed || why.code == error_code::wire_too_large;
    announcing_->abandon();
    next_.reset();
    if (is_damage)
      parts_.news->damage(why);
    else
      parts_.news->lose(why);
    return std::nullopt;
  }

  const std::unique_ptr<edge_consumer> announcing_;
  const end_parts parts_;
  const std::shared_ptr<own_bell> bell_;
  opened_ring ring_;
  std::optional<arrival> next_;
  /// The flush before `next_`, as call + 1; stays when that is dropped.
  std::optional<std::uint64_t> behind_flush_;
  /// To be released.
  std::uint64_t handed_on_ = 0;
  bool has_ended_ = false;
};

}  // namespace

std::unique_ptr<edge_consumer> make_consumer_end(std::unique_ptr<edge_consumer> announcing, std::uint32_t slots,
                                                 doorbell* bell, end_parts parts) {
  return std::make_unique<consumer_end>(std::move(announcing), slots, bell, std::move(parts));
}

}  // namespace troupe::ipc
