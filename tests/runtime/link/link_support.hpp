// Support of the tests of links: an end that notes what it is told, and one that says bytes of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "runtime/edge/tcp/frame.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe::testing {

using namespace std::chrono_literals;

inline constexpr std::chrono::seconds patience{20};
/// The shortest that a run may ask for.
inline constexpr liveness short_times{1000ms};

inline codec::bytes message_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline std::string text_of(const codec::bytes& message) {
  return {reinterpret_cast<const char*>(message.data()), message.size()};
}

/// What an end was told. It stands before the link's loop or endpoint: until the end of that it may be told something.
class noted_news {
 public:
  [[nodiscard]] link_events events() {
    return {.on_message = [this](codec::bytes message) { note([&] { messages_.push_back(std::move(message)); }); },
            .on_lost = [this](const error& why) { note([&] { lost_ = why; }); }};
  }
  void note_end() {
    note([&] { ended_ = true; });
  }

  /// The next message; nothing if none comes.
  [[nodiscard]] std::optional<codec::bytes> next(std::chrono::milliseconds at_most = patience) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, at_most, [&] { return !messages_.empty(); })) return std::nullopt;
    codec::bytes first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }
  [[nodiscard]] std::optional<error> loss(std::chrono::milliseconds at_most = patience) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, at_most, [&] { return lost_.has_value(); });
    return lost_;
  }
  [[nodiscard]] bool has_ended(std::chrono::milliseconds at_most = patience) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, at_most, [&] { return ended_; });
  }

 private:
  template <class Do>
  void note(Do what) {
    const std::lock_guard lock{mutex_};
    what();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<codec::bytes> messages_;
  std::optional<error> lost_;
  bool ended_ = false;
};

/// An end with a loop of its own, as in a process of its own.
class link_process {
 public:
  link_process(unique_fd socket, link_side side, const liveness& times = {})
      : loop_(std::move(*link_loop::create(times))), link(loop_->open(std::move(socket), side)) {
    link->start(news.events());
  }
  void end_loop() { loop_.reset(); }

  noted_news news;

 private:
  std::unique_ptr<link_loop> loop_;

 public:
  std::shared_ptr<message_link> link;
};

/// A peer that says what it likes.
class raw_peer {
 public:
  explicit raw_peer(unique_fd socket) : socket_(std::move(socket)) {}

  void say(std::span<const std::byte> bytes) const {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void say(const std::string& text) const { say(std::as_bytes(std::span(text))); }
  void say(const frame& head, const std::string& payload = {}) const {
    const auto bytes = encode_head(head);
    say(bytes.view());
    if (!payload.empty()) say(payload);
  }
  void greet() const { say(ping_frame{}); }
  [[nodiscard]] bool hears_something() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) == 1;
  }
  [[nodiscard]] unique_fd twin() const { return unique_fd(::dup(socket_.get())); }
  void close() { socket_.reset(); }

 private:
  unique_fd socket_;
};

}  // namespace troupe::testing
