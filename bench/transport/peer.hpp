#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "dialogue.hpp"
#include "lanes.hpp"
#include "runtime/process/spawn.hpp"

namespace troupe::bench {

using lane_ends = std::map<std::string, std::unique_ptr<lane_end>>;

/// The peer's part, until the driver ends the dialogue: joins lanes, and does on them what the driver says.
///   join LANE ...             see lane_kind
///   ping LANE BYTES TURNS     "ready"; so many times: receives a message and sends one
///   stream LANE BYTES COUNT   "ready"; one such turn; receives so many messages; "done NS", the steady clock after
///                             the last was touched
/// An error is told as "failed: ..." and thrown.
void serve(dialogue& driver, lane_ends ends, const patience& wait);

/// A process of this program that serves. It dies with the thread that made this, whatever ends that.
class peer_process {
 public:
  /// No threads yet, so that the child's start depends on none. `arguments` follow the socket's number. Throws.
  explicit peer_process(std::vector<std::string> arguments);
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;
  /// Kills what has not ended by itself a moment after the dialogue.
  ~peer_process();

  [[nodiscard]] dialogue& talk() noexcept { return *talk_; }
  /// Tells it to end, as its part in closing lanes is waited for. Last call on talk().
  void dismiss() noexcept { talk_.reset(); }
  /// Throws when it has ended, with the last it wrote to standard error.
  void check_alive() const;

 private:
  std::optional<dialogue> talk_;
  spawned_process process_;
};

/// The descriptor under which a peer process finds its end of the dialogue.
inline constexpr int peer_socket = 3;
inline constexpr const char* peer_argument = "--peer";

/// A thread that serves the one lane it is given.
class peer_thread {
 public:
  peer_thread(std::string name, std::unique_ptr<lane_end> end, patience wait);
  peer_thread(const peer_thread&) = delete;
  peer_thread& operator=(const peer_thread&) = delete;
  /// Waits for it.
  ~peer_thread();

  [[nodiscard]] dialogue& talk() noexcept { return *talk_; }
  void dismiss() noexcept { talk_.reset(); }

 private:
  std::optional<dialogue> talk_;
  std::thread thread_;
};

}  // namespace troupe::bench
