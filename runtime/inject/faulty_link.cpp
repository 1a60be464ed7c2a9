#include "runtime/inject/faulty_link.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using link_time = std::chrono::steady_clock::time_point;

/// Byte 1 of an envelope is its version.
constexpr std::size_t version_at = 1;

void damage(codec::bytes& message, fault_kind kind) {
  if (kind == fault_kind::truncate) message.resize(message.size() / 2);
  if (kind == fault_kind::corrupt && message.size() > version_at) message[version_at] ^= std::byte{1};
}

/// Nothing for another kind of message.
template <class Message>
std::optional<Message> find_in(std::span<const std::byte> message, message_kind wanted) {
  const auto kind = codec::kind_of(message);
  if (!kind) return std::nullopt;
  if (*kind == message_kind::numbered_message) {
    const auto numbered = codec::decode<numbered_message>(message);
    return numbered && numbered->number != 0 ? find_in<Message>(numbered->message, wanted) : std::nullopt;
  }
  if (*kind != wanted) return std::nullopt;
  auto found = codec::decode<Message>(message);
  return found ? std::optional(std::move(*found)) : std::nullopt;
}

/// One way of a link. Threads: any. What it holds back knows it weakly: it ends with its link.
class direction : public std::enable_shared_from_this<direction> {
 public:
  direction(std::function<void(codec::bytes)> deliver, do_later later)
      : deliver_(std::move(deliver)), later_(std::move(later)) {}

  void pass(codec::bytes message, const message_triggers& triggers, connection_faults& connection) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    link_time due = now;
    bool twice = false;
    bool behind = false;
    for (const auto& each : triggers) {
      const bool is_hit = each->hits(now);
      if (each->is_active(now)) return;
      if (!is_hit) continue;
      const fault_kind kind = each->what().kind;
      if (is_of_connection(each->what())) connection.begin(each->what());
      if (kind == fault_kind::drop) return;
      if (kind == fault_kind::delay) due += each->lateness();
      twice = twice || kind == fault_kind::duplicate;
      behind = behind || kind == fault_kind::reorder;
      damage(message, kind);
    }
    if (behind && !held_) return hold(std::move(message), now);
    if (twice) put(message, due, now);
    put(std::move(message), due, now);
    if (auto before = std::exchange(held_, std::nullopt)) put(std::move(*before), due, now);
  }
  /// Nothing is delivered any more when this has returned.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    held_.reset();
  }

 private:
  /// Until the next message has passed, or a moment later.
  void hold(codec::bytes message, link_time now) {
    held_ = std::move(message);
    later_(now + limits::fault_reorder_time, [weak = weak_from_this(), number = ++holds_] {
      if (const auto self = weak.lock()) self->give_up_waiting(number);
    });
  }
  void give_up_waiting(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (!held_ || number != holds_) return;
    const auto now = std::chrono::steady_clock::now();
    put(*std::exchange(held_, std::nullopt), now, now);
  }

  void put(codec::bytes message, link_time due, link_time now) {
    if (ended_) return;
    const bool passes = (due <= now && waiting_ == 0) || waiting_ >= limits::fault_messages_max;
    if (passes) return deliver_(std::move(message));
    latest_ = std::max(latest_, due);
    ++waiting_;
    later_(latest_, [weak = weak_from_this(), shared = std::make_shared<codec::bytes>(std::move(message))] {
      if (const auto self = weak.lock()) self->arrive(std::move(*shared));
    });
  }
  void arrive(codec::bytes message) {
    const std::lock_guard lock(mutex_);
    --waiting_;
    if (!ended_) deliver_(std::move(message));
  }

  const std::function<void(codec::bytes)> deliver_;
  const do_later later_;
  std::mutex mutex_;
  std::optional<codec::bytes> held_;
  std::uint64_t holds_ = 0;
  link_time latest_;
  std::size_t waiting_ = 0;
  bool ended_ = false;
};

class faulty_link final : public message_link {
 public:
  faulty_link(std::shared_ptr<message_link> link, do_later later,
              std::function<message_triggers(const worker_assignment&)> of, std::shared_ptr<run_start> start)
      : link_(std::move(link)),
        later_(std::move(later)),
        of_(std::move(of)),
        start_(std::move(start)),
        stage_(std::make_shared<stage>()) {
    to_worker_ =
        std::make_shared<direction>([inner = link_](codec::bytes message) { inner->send(std::move(message)); }, later_);
  }

  void start(link_events events) override {
    auto from_worker = std::make_shared<direction>(std::move(events.on_message), later_);
    {
      const std::lock_guard lock(mutex_);
      from_worker_ = from_worker;
    }
    link_->start({.on_message =
                      [way = std::move(from_worker), known = stage_](codec::bytes message) {
                        way->pass(std::move(message), known->triggers(), known->connection());
                      },
                  .on_lost = std::move(events.on_lost),
                  .on_beat = std::move(events.on_beat)});
  }
  void send(codec::bytes message) override {
    if (const auto to = find_in<worker_assignment>(message, message_kind::worker_assignment)) become(of_(*to));
    if (start_ && !start_->began()) look_for_start(message);
    to_worker_->pass(std::move(message), stage_->triggers(), stage_->connection());
  }
  [[nodiscard]] std::size_t queued_bytes() const override { return link_->queued_bytes(); }
  void peer_has_ended(std::function<void()> done) override {
    to_worker_->end();
    link_->peer_has_ended([way = from_worker(), done = std::move(done)] {
      if (way) way->end();
      done();
    });
  }
  void close() override { link_->close(); }

 private:
  [[nodiscard]] std::shared_ptr<direction> from_worker() const {
    const std::lock_guard lock(mutex_);
    return from_worker_.lock();
  }

  /// What no run can have is left to the worker, which refuses it.
  void look_for_start(const codec::bytes& message) {
    constexpr auto longest_ns = static_cast<std::uint64_t>(limits::deadline_seconds_max * 1e9);
    const auto begun = find_in<run_begun>(message, message_kind::run_begun);
    if (!begun || begun->age_ns > longest_ns) return;
    start_->begin(run_start::clock::now() - std::chrono::nanoseconds{begun->age_ns});
  }

  void become(message_triggers triggers) {
    const bool may_break =
        std::ranges::any_of(triggers, [](const auto& each) { return is_of_connection(each->what()); });
    if (may_break && !std::exchange(is_disturbed_, true)) link_->disturb({stage_, &stage_->connection()});
    stage_->become(std::move(triggers));
  }

  /// The stage of the worker, once it has one.
  class stage {
   public:
    void become(message_triggers triggers) {
      const std::lock_guard lock(mutex_);
      triggers_ = std::move(triggers);
    }
    [[nodiscard]] message_triggers triggers() const {
      const std::lock_guard lock(mutex_);
      return triggers_;
    }

    [[nodiscard]] connection_faults& connection() noexcept { return connection_; }

   private:
    mutable std::mutex mutex_;
    message_triggers triggers_;
    connection_faults connection_{{}, flow::out};
  };

  const std::shared_ptr<message_link> link_;
  const do_later later_;
  const std::function<message_triggers(const worker_assignment&)> of_;
  const std::shared_ptr<run_start> start_;
  const std::shared_ptr<stage> stage_;
  /// An assignment is said again until it is confirmed.
  bool is_disturbed_ = false;
  std::shared_ptr<direction> to_worker_;
  /// A worker may end while start() runs.
  mutable std::mutex mutex_;
  /// It is the link's, until the link is lost: what it delivers to may know this link.
  std::weak_ptr<direction> from_worker_;
};

}  // namespace

std::shared_ptr<message_link> disturb_link(std::shared_ptr<message_link> link, do_later later,
                                           std::function<message_triggers(const worker_assignment&)> of,
                                           std::shared_ptr<run_start> start) {
  return std::make_shared<faulty_link>(std::move(link), std::move(later), std::move(of), std::move(start));
}

}  // namespace troupe
