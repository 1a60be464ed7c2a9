#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "actors/link/control_link.hpp"
#include "actors/link/link_config.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe::testing {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// For what must happen; a test that waits so long has failed.
inline constexpr std::chrono::seconds patience{20};

/// What an actor has got; waits for more.
class inbox {
 public:
  void take(const wire_message& message, const wire_actor& sender);
  void lose(const caf::error& reason);

  /// The next message; nothing and a failed test if none comes.
  std::optional<wire_message> next(clock::duration at_most = patience);
  [[nodiscard]] bool await_loss(clock::duration at_most = patience);
  [[nodiscard]] bool has_loss() const;
  [[nodiscard]] wire_actor last_sender() const;
  /// Forgets all but the losses.
  void clear();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<wire_message> messages_;
  wire_actor sender_;
  std::size_t losses_ = 0;
};

/// A system at one end of links, the driver's or a worker's: with one actor, which monitors who writes to it.
class link_end {
 public:
  explicit link_end(liveness times = {});
  /// Tells its actor to exit; then the system's own end.
  ~link_end();
  link_end(const link_end&) = delete;
  link_end& operator=(const link_end&) = delete;

  /// The worker's end of a new link, whose driver's end offers the actor, or another one.
  unique_fd offer() { return offer(actor_); }
  unique_fd offer(const wire_actor& actor);
  /// As the worker at such an end.
  expected<wire_actor> join(unique_fd worker_end);
  [[nodiscard]] const liveness& times() const { return config_.times(); }
  [[nodiscard]] caf::actor_system& system() { return system_; }
  [[nodiscard]] inbox& box() { return *box_; }
  [[nodiscard]] const wire_actor& actor() const { return actor_; }
  /// To the one who wrote last.
  void answer(wire_message message);

 private:
  link_config config_;
  caf::actor_system system_;
  std::shared_ptr<inbox> box_;
  wire_actor actor_;
};

/// Keeps what a probe says and how it ended.
class probe_listener : public process_listener {
 public:
  void on_output(worker_id, output_stream, std::string_view line) override;
  void on_exit(const exit_report& report) override;
  std::optional<std::string> next_line();
  std::optional<exit_report> await_exit();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::optional<exit_report> report_;
};

/// The probe as another process; killed at the end.
class probe {
 public:
  /// `link` is its end of one.
  probe(std::vector<std::string> arguments, unique_fd link);
  /// An echo that is connected to `driver`, which has its first message.
  static probe echo_of(link_end& driver);

  void signal(int number) { host_->kill(id_, number); }
  [[nodiscard]] probe_listener& listener() { return *listener_; }

 private:
  std::unique_ptr<process_host> host_;
  std::shared_ptr<probe_listener> listener_;
  worker_id id_;
};

wire_message message_of(const std::string& text);
/// The greatest size that a process has had, in KiB; of this one since the last call of forget_peak().
std::size_t peak_memory_kib(const std::string& process = "self");
/// Returns what the peak is now.
std::size_t forget_peak();
std::size_t open_descriptors();
/// Looks again and again until it is true or `at_most` has passed.
bool eventually(const std::function<bool()>& holds, clock::duration at_most = patience);

}  // namespace troupe::testing
