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

#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/actors/secure/secure_link.hpp>
#include <troupe/runtime/process/job_credentials.hpp>
#include <troupe/runtime/process/memory_file.hpp>
#include <troupe/runtime/process/process_host.hpp>

namespace troupe::testing {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// For what must happen; a test that waits so long has failed.
inline constexpr std::chrono::seconds patience{20};

/// The run of all tests, and another one.
const job_credentials& our_run();
const job_credentials& other_run();

/// One member's files, as a process has them.
class member_files {
 public:
  member_files(const std::string& ca, const pem_identity& member);
  [[nodiscard]] secure_identity identity() const;
  [[nodiscard]] std::vector<inherited_fd> inherited() const;

 private:
  memory_file ca_;
  memory_file certificate_;
  memory_file key_;
};

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

/// An end of a link: a system with one published actor, which monitors whoever writes to it.
class link_end {
 public:
  explicit link_end(liveness times = {}, const pem_identity& member = our_run().driver,
                    const std::string& ca = our_run().ca_certificate);
  /// Tells its actor to exit; then the system's own end.
  ~link_end();
  link_end(const link_end&) = delete;
  link_end& operator=(const link_end&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const liveness& times() const { return config_.times(); }
  [[nodiscard]] caf::actor_system& system() { return system_; }
  [[nodiscard]] inbox& box() { return *box_; }
  [[nodiscard]] const wire_actor& actor() const { return actor_; }
  /// To the one who wrote last.
  void answer(wire_message message);

 private:
  member_files files_;
  secure_config config_;
  caf::actor_system system_;
  std::shared_ptr<inbox> box_;
  wire_actor actor_;
  std::uint16_t port_ = 0;
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
  explicit probe(std::vector<std::string> arguments, const job_credentials& run = our_run());
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
