#include "runtime/link/link_end.hpp"

#include <utility>

#include <asio/post.hpp>

#include "messages/try.hpp"

namespace troupe {
namespace {

error lost_link(const error& why) {
  const bool is_loss = why.code == error_code::peer_lost;
  return {why.code, "control plane", is_loss || why.where.empty() ? why.cause : why.where + ": " + why.cause,
          "look whether the other process has ended or is stopped"};
}

error says_what_cannot_be(std::string what) {
  return {error_code::wire_malformed, "control plane", std::move(what), "run the same version of Troupe everywhere"};
}

}  // namespace

/// Under the lock, as the executor may go after cut().
template <class Do>
void link_end::post(Do what) {
  const std::lock_guard lock{mutex_};
  if (!core_) return;
  asio::post(core_->executor, [self = shared_from_this(), what = std::move(what)]() mutable { what(*self); });
}

// --- any thread ------------------------------------------------------------------------------------------------------

void link_end::start(link_events events) {
  post([events = std::move(events)](link_end& self) mutable { self.begin(std::move(events)); });
}

void link_end::send(codec::bytes message) {
  bool is_too_much = false;
  {
    const std::lock_guard lock{mutex_};
    if (is_lost_ || is_closed_ || !core_) return;
    queued_bytes_ += message.size();
    queue_.push_back(std::move(message));
    is_too_much = queued_bytes_ > limits::link_bytes_queued_max;
    if (std::exchange(is_pumping_, true) && !is_too_much) return;
  }
  post([is_too_much](link_end& self) {
    if (is_too_much) return self.end({error_code::peer_lost, {}, "it takes no messages", {}});
    self.pump();
  });
}

std::size_t link_end::queued_bytes() const {
  const std::lock_guard lock{mutex_};
  return queued_bytes_;
}

void link_end::peer_has_ended(std::function<void()> done) {
  post([done = std::move(done)](link_end& self) mutable { self.end_when_read(std::move(done)); });
}

void link_end::disturb(const std::shared_ptr<arrival_faults>& faults) {
  post([faults](link_end& self) {
    if (const auto there = self.connection_.lock()) there->disturb(faults, disturbed_content::link);
  });
}

void link_end::close() {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(is_closed_, true)) return;
  }
  post([](link_end& self) { self.leave(); });
}

bool link_end::is_lost() {
  const std::lock_guard lock{mutex_};
  return is_lost_;
}

// --- the I/O thread --------------------------------------------------------------------------------------------------

void link_end::begin(link_events events) {
  if (leaves_ || done_ || std::exchange(has_started_, true)) return;
  if (lost_before_start_) {
    if (events.on_lost) events.on_lost(lost_link(*lost_before_start_));
    return;
  }
  if (is_lost()) return;  // its process has ended before
  events_ = std::move(events);
  open();
}

void link_end::open() {
  const auto made = connect();
  if (!made) return lost(made.error(), {});
  connection_ = *made;
  (*made)->pump();
}

void link_end::talk(std::optional<frame> first) {
  hears_ = speaks_ = true;
  if (first) owes_ = first;
}

void link_end::pump() {
  {
    const std::lock_guard lock{mutex_};
    is_pumping_ = false;
  }
  if (const auto there = connection_.lock()) there->pump();
}

/// What a process has written can be read after its end, and then its end. Another process that has inherited its
/// socket would hide that.
void link_end::end_when_read(std::function<void()> done) {
  done_ = std::move(done);
  const error ended{error_code::peer_lost, {}, "its process has ended", {}};
  const auto there = connection_.lock();
  if (there == nullptr) return end(ended);
  const auto timer = std::make_shared<asio::steady_timer>(there->executor(), limits::worker_output_drain_time);
  timer->async_wait([timer, ended, self = weak_from_this()](std::error_code) {
    if (const auto still = self.lock()) still->end(ended);
  });
}

void link_end::leave() {
  leaves_ = true;
  events_ = {};
  done_ = nullptr;
  const auto there = connection_.lock();
  if (there && hears_ && there->is_established()) return there->pump();
  end({error_code::peer_lost, {}, "this end has closed it", {}});
}

/// A peer that was not greeted is not wanted.
void link_end::end(const error& why) {
  if (const auto there = connection_.lock()) hears_ ? there->drop() : there->turn_away();
  lost(why, {});
}

void link_end::lost(const error& why, const std::string&) {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(is_lost_, true) && !done_) return;
    queue_.clear();
    queued_bytes_ = 0;
  }
  const link_events events = std::exchange(events_, {});
  if (const auto done = std::exchange(done_, nullptr)) return done();
  if (!has_started_) lost_before_start_ = why;
  if (events.on_lost) events.on_lost(lost_link(why));
}

void link_end::cut() {
  // Without the lock when they go, as what they hold may know this link.
  const link_events events = std::exchange(events_, {});
  const auto done = std::exchange(done_, nullptr);
  const std::lock_guard lock{mutex_};
  is_lost_ = true;
  queue_.clear();
  core_ = nullptr;
}

std::shared_ptr<aligned_buffer> link_end::place_for(std::uint64_t bytes) {
  auto place = std::make_shared<aligned_buffer>();
  return place->reserve(bytes) ? place : nullptr;
}

expected<void> link_end::on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                                  std::shared_ptr<aligned_buffer>) {
  if (hears_) return take(head, payload);
  const auto goes_on = TROUPE_TRY(greet(from, head));
  return goes_on ? take(head, payload) : expected<void>();
}

expected<void> link_end::take(const frame& head, std::span<const std::byte> payload) {
  if (std::holds_alternative<ping_frame>(head)) return {};
  if (!std::holds_alternative<control_frame>(head))
    return tl::make_unexpected(says_what_cannot_be("a frame of no link"));
  if (events_.on_message) events_.on_message({payload.begin(), payload.end()});
  return {};
}

expected<bool> link_end::next(outgoing_frame& out) {
  if (owes_) {
    out.begin(*std::exchange(owes_, std::nullopt));
    return true;
  }
  const std::lock_guard lock{mutex_};
  if (queue_.empty() || !speaks_) return false;
  current_ = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= current_.size();
  out.begin(control_frame{current_.size()}, current_);
  return true;
}

// connection::pump() asks after next() had nothing to say.
bool link_end::finished() const {
  return leaves_;
}

}  // namespace troupe
