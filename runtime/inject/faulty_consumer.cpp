#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "messages/limits.hpp"
#include "runtime/inject/faulty_transport.hpp"

namespace troupe {
namespace {

using fault_time = std::chrono::steady_clock::time_point;

class faulty_consumer final : public edge_consumer {
 public:
  faulty_consumer(std::unique_ptr<edge_consumer> edge, message_triggers triggers,
                  std::function<void(const error&)> lost, std::shared_ptr<const arrival_faults> connection)
      : edge_(std::move(edge)),
        triggers_(std::move(triggers)),
        on_lost_(std::move(lost)),
        connection_(std::move(connection)) {}

  [[nodiscard]] std::optional<activation> try_receive() override {
    give_back();
    if (is_silent()) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    take_all(now);
    if (lost_ || queue_.empty() || queue_.front().due > now) return std::nullopt;
    activation next = std::move(queue_.front().message);
    if (queue_.front().is_copy) ++copies_in_use_;
    queue_.pop_front();
    return next;
  }

  void release() noexcept override {
    if (copies_in_use_ > 0) {
      --copies_in_use_;
    } else {
      ++owed_;
      give_back();
    }
  }

  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    if (is_silent()) return flushed_;
    flushed_ = held_            ? held_->flushed_before
               : queue_.empty() ? edge_->flushed_through()
                                : queue_.front().flushed_before;
    for (const waiting& each : queue_) flushed_ = std::min(flushed_, each.flushed_before);
    return flushed_;
  }
  [[nodiscard]] bool exhausted() const noexcept override {
    return !is_silent() && !has_dropped_ && holds_nothing() && edge_->exhausted();
  }
  void close() noexcept override {
    has_dropped_ = has_dropped_ || !holds_nothing();
    queue_.clear();
    held_.reset();
    edge_->close();
  }
  void abandon() noexcept override { edge_->abandon(); }

 private:
  struct waiting {
    activation message;
    fault_time due;
    /// What edge_consumer::flushed_through() said before it.
    std::optional<call_number> flushed_before;
    bool is_copy = false;
  };

  [[nodiscard]] bool holds_nothing() const noexcept { return queue_.empty() && !held_; }

  [[nodiscard]] bool is_silent() const noexcept {
    if (lost_) return true;
    bool silent = false;
    for (const auto& each : triggers_) silent = each->is_active() || silent;
    return silent || (connection_ && connection_->is_silenced(flow::in));
  }
  void give_back() noexcept {
    if (connection_ && connection_->is_silenced(flow::out)) return;
    for (; owed_ > 0; --owed_) edge_->release();
  }

  void take_all(fault_time now) {
    while (!lost_ && queue_.size() < limits::fault_messages_max) {
      const auto flushed = edge_->flushed_through();
      auto message = edge_->try_receive();
      if (!message) break;
      take({std::move(*message), now, flushed});
      if (is_closed()) lose("the connection was closed by the fault plan");
    }
    // There may be no next one: the producer may wait for this one's slot.
    if (held_ && now - held_->due >= limits::fault_reorder_time) put(*std::exchange(held_, std::nullopt), now);
  }

  void take(waiting next) {
    const fault_time now = next.due;
    bool behind = false;
    bool twice = false;
    fault_time due = now;
    for (const auto& each : triggers_) {
      if (!each->hits(now)) continue;
      const fault_kind kind = each->what().kind;
      if (kind == fault_kind::drop) return lose(to_string(next.message.id) + " was dropped by the fault plan");
      if (kind == fault_kind::delay) due += each->lateness();
      twice = twice || kind == fault_kind::duplicate;
      behind = behind || kind == fault_kind::reorder;
    }
    if (behind && !held_) {
      held_ = std::move(next);
      return;
    }
    auto copy = twice ? std::optional(next) : std::nullopt;
    put(std::move(next), due);
    if (copy) {
      copy->is_copy = true;
      put(std::move(*copy), due);
    }
    if (auto before = std::exchange(held_, std::nullopt)) put(std::move(*before), due);
  }

  /// In order: behind a message that is late others are as late.
  void put(waiting one, fault_time due) {
    one.due = latest_ = std::max(latest_, due);
    queue_.push_back(std::move(one));
  }

  [[nodiscard]] bool is_closed() const noexcept {
    return connection_ && (connection_->is_closed(flow::in) || connection_->is_closed(flow::out));
  }
  void lose(std::string why) {
    lost_ = true;
    if (on_lost_) on_lost_({error_code::peer_lost, "edge", std::move(why), {}});
  }

  const std::unique_ptr<edge_consumer> edge_;
  const message_triggers triggers_;
  const std::function<void(const error&)> on_lost_;
  const std::shared_ptr<const arrival_faults> connection_;
  std::deque<waiting> queue_;
  /// Until the next one has passed; its `due` is when it came.
  std::optional<waiting> held_;
  fault_time latest_;
  /// Handed out and not released: they have no slot of their own.
  std::uint32_t copies_in_use_ = 0;
  /// Released, and held back while nothing goes out.
  std::uint32_t owed_ = 0;
  mutable std::optional<call_number> flushed_;
  bool lost_ = false;
  /// At its close.
  bool has_dropped_ = false;
};

}  // namespace

std::unique_ptr<edge_consumer> disturb_arrivals(std::unique_ptr<edge_consumer> edge, message_triggers triggers,
                                                std::function<void(const error&)> lost,
                                                std::shared_ptr<const arrival_faults> connection) {
  return std::make_unique<faulty_consumer>(std::move(edge), std::move(triggers), std::move(lost),
                                           std::move(connection));
}

}  // namespace troupe
