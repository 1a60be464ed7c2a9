#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include <troupe/actors/secure/tls_session.hpp>

namespace troupe {

/// The first byte that a door says to a member, and the version of what follows: from it a client knows that it was
/// accepted.
inline constexpr char link_welcome = 1;

/// Listens on 127.0.0.1 and shakes hands on a thread of its own, so that nobody comes near CAF's protocol who has not
/// proven to belong to the run: CAF crashes on malformed frames, and a silent stranger keeps its thread busy.
///
/// At most control_strangers_max handshakes are under way. Each ends within control_handshake_timeout; when there is no
/// room, the oldest that is older than control_stranger_patience is closed for the next. Other strangers wait in the
/// kernel's queue.
class secure_door {
 public:
  /// Gets a connection whose peer was accepted and welcomed. On the door's thread; must neither wait nor throw.
  using member_handler = std::function<void(tls_session)>;

  /// E0614 if the system gives no socket or thread.
  [[nodiscard]] static expected<std::unique_ptr<secure_door>> open(tls_context context, member_handler on_member);

  secure_door(const secure_door&) = delete;
  secure_door& operator=(const secure_door&) = delete;
  /// Closes the port and all handshakes under way. Not from the handler.
  ~secure_door();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  struct stranger {
    tls_session session;
    time_point came;
    tls_state state = tls_state::wants_read;
    bool shook_hands = false;
  };
  using strangers = std::list<stranger>;

  secure_door(tls_context context, member_handler on_member, unique_fd listener, unique_fd bell, std::uint16_t port);

  void run();
  void wait();
  void accept_all(time_point now);
  void admit(unique_fd socket, time_point now);
  void advance(strangers::iterator one);
  void end_late(time_point now);
  [[nodiscard]] bool may_accept(time_point now) const;
  [[nodiscard]] std::chrono::milliseconds time_to_wait(time_point now) const;

  tls_context context_;
  member_handler on_member_;
  unique_fd listener_;
  unique_fd bell_;  ///< rung by the destructor alone
  std::uint16_t port_;
  strangers strangers_;                    ///< the oldest first
  std::optional<time_point> pause_until_;  ///< after an accept() for which the system had no descriptor
  bool stopping_ = false;
  std::jthread thread_;  ///< last: it uses all the others
};

}  // namespace troupe
