#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/link/message_link.hpp"
#include <troupe/error.hpp>

namespace troupe::bench {

/// Agents without workers: each joins with its ticket on a thread of its own, dials as troupe-agent does, and answers
/// agent_setup by agent_ready. Their links share one loop and live as long as the object.
class simulated_agents {
 public:
  /// Throws formation_failure without a loop.
  simulated_agents();
  ~simulated_agents();
  simulated_agents(const simulated_agents&) = delete;
  simulated_agents& operator=(const simulated_agents&) = delete;

  /// Begins to join.
  void start(std::string ticket);
  /// What went wrong at agents, one line each: not joined, or a link that was lost.
  [[nodiscard]] std::vector<std::string> failures();

 private:
  void join(const std::string& ticket);
  void answer(const std::shared_ptr<message_link>& link);
  void note(const error& why);

  std::mutex mutex_;
  std::vector<std::string> failures_;
  std::vector<std::thread> threads_;
  std::unique_ptr<link_loop> loop_;
};

}  // namespace troupe::bench
