#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/link/link_core.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe {

/// One end, and what its connection is about. How it connects and greets is for the classes below.
///
///   opened --start--> greeting --greet() says so--> talking --loss--> lost
///                                                   talking --close--> leaving, until all is out
/// peer_has_ended() ends the link in any of these, once all has been read that came; close() in the first two at once.
class link_end : public message_link, public connection_role, public std::enable_shared_from_this<link_end> {
 public:
  /// `accepted`: its connection, where there is one before the start.
  explicit link_end(std::shared_ptr<link_core> core, std::weak_ptr<connection> accepted = {})
      : core_(std::move(core)), connection_(std::move(accepted)) {}

  void start(link_events events) final;
  void send(codec::bytes message) final;
  [[nodiscard]] std::size_t queued_bytes() const final;
  void peer_has_ended(std::function<void()> done) final;
  void disturb(const std::shared_ptr<arrival_faults>& faults) final;
  void close() final;
  // The I/O thread.
  std::shared_ptr<aligned_buffer> place_for(std::uint64_t bytes) final;
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) final;
  expected<bool> next(outgoing_frame& out) final;
  [[nodiscard]] bool finished() const final;
  [[nodiscard]] bool leaving() const final { return leaves_; }
  void lost(const error& why, const std::string& peer) override;
  void on_beat() final {
    if (events_.on_beat) events_.on_beat();
  }
  /// By connect().
  void open();
  /// From this side.
  void end(const error& why);
  [[nodiscard]] bool is_lost();

  /// The I/O thread has ended.
  void cut();

 protected:
  /// At the start, and where open() asks again: the connection, which has this end for its role.
  virtual expected<std::shared_ptr<connection>> connect() = 0;
  /// What comes before the other end has greeted. May call talk(); true: the frame is to be taken as any other.
  virtual expected<bool> greet(connection& from, const frame& head) = 0;

  /// Messages may pass both ways, after `first` if this side owes one.
  void talk(std::optional<frame> first = std::nullopt);
  void say(const frame& first) { owes_ = first; }
  /// Messages may go out before the other end has greeted.
  void speak() { speaks_ = true; }

 private:
  template <class Do>
  void post(Do what);
  void begin(link_events events);
  void pump();
  void end_when_read(std::function<void()> done);
  void leave();
  expected<void> take(const frame& head, std::span<const std::byte> payload);

  mutable std::mutex mutex_;
  /// Null once the thread has ended.
  std::shared_ptr<link_core> core_;
  std::deque<codec::bytes> queue_;
  std::size_t queued_bytes_ = 0;
  bool is_pumping_ = false;
  bool is_lost_ = false;
  bool is_closed_ = false;

  // The I/O thread.
  std::weak_ptr<connection> connection_;
  link_events events_;
  std::optional<error> lost_before_start_;
  std::function<void()> done_;
  codec::bytes current_;
  std::optional<frame> owes_;
  bool has_started_ = false;
  bool hears_ = false;
  bool speaks_ = false;
  bool leaves_ = false;
};

}  // namespace troupe
