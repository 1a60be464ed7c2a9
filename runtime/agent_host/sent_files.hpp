#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "messages/agent.hpp"

namespace troupe {

/// Sees to it that an agent's node has files, and sends those that it has not. One file at a time; at most
/// limits::file_bytes_ahead_max bytes are on their way. Threads: any.
class sent_files {
 public:
  struct orders {
    std::function<void(const check_file&)> check;
    std::function<void(const file_part&)> send;
  };
  sent_files(std::string node, orders to_agent) : node_(std::move(node)), orders_(std::move(to_agent)) {}

  /// Until workers of the node can read the file. E0210 and E0617 where it cannot be read here, or has changed; E0607
  /// after a stop; E0618 where nothing is heard for limits::file_stall_max, or at `deadline`; what lose() was told.
  [[nodiscard]] expected<void> provide(const file_identity& file, std::chrono::steady_clock::time_point deadline,
                                       const std::stop_token& stop);

  /// E0702 for what no agent says. Answers to what was given up have no effect.
  [[nodiscard]] expected<void> answered(const file_answer& said);
  void lose(const error& why);

 private:
  using time_point = std::chrono::steady_clock::time_point;
  struct answer {
    file_state state = file_state::looking;
    std::uint64_t bytes = 0;
    friend auto operator<=>(const answer&, const answer&) = default;
  };
  /// What a wait is for, and how long.
  struct patience {
    const file_identity& file;
    time_point deadline;
    std::stop_token stop;
  };

  [[nodiscard]] expected<answer> wait_until(const patience& how, const std::function<bool(const answer&)>& done);
  [[nodiscard]] expected<void> send(std::uint64_t number, const patience& how);

  const std::string node_;
  const orders orders_;
  /// Held while a file is provided; the other one is not while it is waited for.
  std::mutex in_turn_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t number_ = 0;
  std::uint64_t size_ = 0;
  answer last_;
  std::optional<error> loss_;
};

}  // namespace troupe
