#include "runtime/link/numbered_link.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "messages/codec/codec.hpp"
#include "messages/limits.hpp"
#include "messages/worker.hpp"

namespace troupe {
namespace {

/// Threads: send() on any; what the link below tells, one at a time. The lock is not held while something is told, and
/// is held while something is sent, so that numbers ascend on the way.
class numbered_link final : public message_link, public std::enable_shared_from_this<numbered_link> {
 public:
  explicit numbered_link(std::shared_ptr<message_link> below) : below_(std::move(below)) {}

  /// The link below keeps this one until its loss or end, and what this one tells with it.
  void start(link_events events) override {
    below_->start({.on_message = [self = shared_from_this(), tell = std::move(events.on_message)](
                                     codec::bytes message) { self->arrive(std::move(message), tell); },
                   .on_lost =
                       [self = shared_from_this(), tell = events.on_lost](const error& why) {
                         if (self->lose() && tell) tell(why);
                       },
                   .on_beat =
                       [self = shared_from_this(), tell = events.on_lost] {
                         const auto why = self->beat();
                         if (why && self->lose() && tell) tell(*why);
                       }});
  }

  void send(codec::bytes message) override {
    const std::lock_guard lock(mutex_);
    if (is_lost_) return;
    auto bytes = codec::encode(numbered_message{sent_ + 1, heard_, message});
    if (!bytes) return below_->send(std::move(message));
    ++sent_;
    kept_bytes_ += bytes->size();
    kept_.push_back({sent_, beats_, beats_, *bytes});
    owed_bytes_.reset();
    below_->send(std::move(*bytes));
  }

  [[nodiscard]] std::size_t queued_bytes() const override { return below_->queued_bytes(); }
  void peer_has_ended(std::function<void()> done) override { below_->peer_has_ended(std::move(done)); }
  void close() override { below_->close(); }

 private:
  struct kept_message {
    std::uint64_t number = 0;
    std::uint64_t since = 0;
    /// When it was said last.
    std::uint64_t said = 0;
    codec::bytes bytes;
  };

  void arrive(codec::bytes message, const std::function<void(codec::bytes)>& tell) {
    auto read = codec::decode<numbered_message>(message);
    std::vector<codec::bytes> told;
    {
      const std::lock_guard lock(mutex_);
      if (is_lost_) return;
      if (!read || !can_be(*read)) {
        told.push_back(std::move(message));
      } else {
        forget_heard(read->heard);
        if (read->number != 0) take(std::move(*read), message.size(), told);
      }
    }
    for (codec::bytes& each : told) tell(std::move(each));
  }

  [[nodiscard]] bool can_be(const numbered_message& what) const {
    const bool is_next = what.number <= heard_ + 1;
    return what.heard <= sent_ && what.number <= heard_ + limits::messages_ahead_max &&
           (is_next || ahead_bytes_ <= limits::link_bytes_queued_max);
  }

  void take(numbered_message what, std::size_t bytes, std::vector<codec::bytes>& told) {
    owed_bytes_ = owed_bytes_.value_or(0) + bytes;
    const bool is_new = what.number > heard_ && !ahead_.contains(what.number);
    if (is_new) {
      ahead_bytes_ += what.message.size();
      ahead_.emplace(what.number, std::move(what.message));
    }
    for (auto next = ahead_.begin(); next != ahead_.end() && next->first == heard_ + 1; next = ahead_.begin()) {
      ++heard_;
      ahead_bytes_ -= next->second.size();
      told.push_back(std::move(next->second));
      ahead_.erase(next);
    }
    if (*owed_bytes_ >= limits::message_receipt_bytes) tell_receipt();
  }

  void forget_heard(std::uint64_t heard) {
    while (!kept_.empty() && kept_.front().number <= heard) {
      kept_bytes_ -= kept_.front().bytes.size();
      kept_.pop_front();
    }
  }

  void tell_receipt() {
    owed_bytes_.reset();
    if (auto bytes = codec::encode(numbered_message{0, heard_, {}})) below_->send(std::move(*bytes));
  }

  /// Why the link is lost, if it is. What has not even left is not said again.
  std::optional<error> beat() {
    const std::lock_guard lock(mutex_);
    ++beats_;
    if (is_lost_) return std::nullopt;
    const bool is_deaf = !kept_.empty() && beats_ - kept_.front().since >= limits::message_unheard_beats;
    if (is_deaf || kept_bytes_ > limits::link_bytes_queued_max) {
      return error{error_code::peer_lost, "control plane", "it does not confirm what it is told",
                   "look whether the other process has ended or is stopped"};
    }
    // before the receipt, which is queued itself
    const bool all_has_left = below_->queued_bytes() == 0;
    if (owed_bytes_) tell_receipt();
    if (!all_has_left) return std::nullopt;
    for (kept_message& each : kept_) {
      if (beats_ - each.said < limits::message_repeat_beats) continue;
      each.said = beats_;
      below_->send(each.bytes);
    }
    return std::nullopt;
  }

  /// True once.
  bool lose() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
    ahead_.clear();
    return !std::exchange(is_lost_, true);
  }

  const std::shared_ptr<message_link> below_;
  std::mutex mutex_;
  bool is_lost_ = false;
  std::uint64_t beats_ = 0;
  std::uint64_t sent_ = 0;
  std::deque<kept_message> kept_;
  std::size_t kept_bytes_ = 0;
  /// All up to this number were told.
  std::uint64_t heard_ = 0;
  std::map<std::uint64_t, codec::bytes> ahead_;
  std::size_t ahead_bytes_ = 0;
  /// Bytes of messages whose receipt is not told yet.
  std::optional<std::size_t> owed_bytes_;
};

}  // namespace

std::shared_ptr<message_link> number_messages(std::shared_ptr<message_link> below) {
  return std::make_shared<numbered_link>(std::move(below));
}

}  // namespace troupe
