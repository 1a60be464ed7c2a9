#include <utility>

#include <asio/post.hpp>

#include "runtime/link/link_core.hpp"

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

link_end::link_end(std::shared_ptr<link_core> core, unique_fd socket, link_side side)
    : side_(side), core_(std::move(core)), socket_(std::move(socket)) {}

std::shared_ptr<link_core> link_end::core() {
  const std::lock_guard lock{mutex_};
  return core_;
}

template <class Do>
void link_end::post(Do what) {
  if (const auto there = core()) {
    asio::post(there->io, [self = shared_from_this(), what = std::move(what)]() mutable { what(*self); });
  }
}

// --- any thread ------------------------------------------------------------------------------------------------------

void link_end::start(link_events events) {
  post([events = std::move(events)](link_end& self) mutable { self.connect(std::move(events)); });
}

void link_end::send(codec::bytes message) {
  bool is_too_much = false;
  {
    const std::lock_guard lock{mutex_};
    if (is_lost_ || !core_) return;
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

// --- the loop's thread -----------------------------------------------------------------------------------------------

void link_end::connect(link_events events) {
  std::shared_ptr<link_core> there;
  {
    const std::lock_guard lock{mutex_};
    if (is_lost_) return;  // its process has ended before
    there = core_;
  }
  events_ = std::move(events);
  std::error_code failed;
  wire_socket socket(there->io);
  socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), socket_.get(), failed);
  if (failed) return lost({error_code::peer_lost, {}, "its socket cannot be used: " + failed.message(), {}}, {});
  static_cast<void>(socket_.release());
  const auto made = there->add(std::move(socket), shared_from_this());
  connection_ = made;
  made->serve();
  if (side_ == link_side::driver) return;
  talks_ = owes_word_ = true;
  made->assume(shared_from_this());
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
  const auto there = core();
  if (!there || connection_.expired()) return end(ended);
  const auto timer = std::make_shared<asio::steady_timer>(there->io, limits::worker_output_drain_time);
  timer->async_wait([timer, ended, self = weak_from_this()](std::error_code) {
    if (const auto still = self.lock()) still->end(ended);
  });
}

void link_end::end(const error& why) {
  if (const auto there = connection_.lock()) there->drop();
  lost(why, {});
}

void link_end::lost(const error& why, const std::string&) {
  {
    const std::lock_guard lock{mutex_};
    is_lost_ = true;
    queue_.clear();
    queued_bytes_ = 0;
  }
  const link_events events = std::exchange(events_, {});
  if (const auto done = std::exchange(done_, nullptr)) return done();
  if (events.on_lost) events.on_lost(lost_link(why));
}

void link_end::cut() {
  const std::lock_guard lock{mutex_};
  is_lost_ = true;
  queue_.clear();
  events_ = {};
  done_ = nullptr;
  core_ = nullptr;
}

std::shared_ptr<aligned_buffer> link_end::place_for(std::uint64_t bytes) {
  auto place = std::make_shared<aligned_buffer>();
  return place->reserve(bytes) ? place : nullptr;
}

expected<void> link_end::on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                                  std::shared_ptr<aligned_buffer>) {
  if (!std::exchange(talks_, true)) {
    owes_word_ = true;
    from.assume(shared_from_this());
  }
  if (std::holds_alternative<ping_frame>(head)) return {};
  if (!std::holds_alternative<control_frame>(head))
    return tl::make_unexpected(says_what_cannot_be("a frame of an edge"));
  if (events_.on_message) events_.on_message({payload.begin(), payload.end()});
  return {};
}

expected<bool> link_end::next(outgoing& out) {
  if (std::exchange(owes_word_, false)) {
    out = {encode_head(ping_frame{}), {}};
    return true;
  }
  const std::lock_guard lock{mutex_};
  if (queue_.empty()) return false;
  current_ = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= current_.size();
  out = {encode_head(control_frame{current_.size()}), current_};
  return true;
}

}  // namespace troupe
